/**
 * Runs `hsgate notify --test`.
 *
 * @module
 */
import { reasonOf } from "../../../lib/credentials.ts";
import { sendNotice } from "../../../lib/runner/notify/notice_step.ts";
import { channelsOf, withinTime } from "../../../lib/runner/notify/notify.ts";
import { manualScope } from "../../../lib/recipes/engine/step_context.ts";
import type { CompiledRecipe, CompiledStep } from "../../../lib/recipes/mod.ts";
import { notifyChannels } from "../../../lib/recipes/kinds/notify.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { NotifyInput } from "../notify.ts";
import { paint, plain } from "../../terminal/print.ts";
import { loadToRun, recipeNamed } from "../shared/recipe_files.ts";
import { Connections } from "../run/connections.ts";
import { commandDeps, redactorOf } from "../run/deps.ts";

/** What sends a test message: a channel of a notice, or a step. */
type About =
  | { notice: number; on: string; channel: string; fallback: boolean }
  | { step: string; channel: string };

/** A step that sends a test message, and the notice or step that it belongs to. */
interface Sender {
  about: About;
  step: CompiledStep;
  /** Position of the notice, and of the channel in the notice. Steps follow after all notices. */
  index: number;
  place: number;
}

/** Result of the test of one sender. */
type Tried = About & { sent: boolean; error?: string };

/** Sends a test message by each channel of a recipe's notices, and by each step that sends messages. */
export async function run({ args: [name = ""], flags, host }: NotifyInput): Promise<number> {
  if (!flags.test) {
    throw new UsageError(`Cannot notify: write "notify --test ${name}"; only runs send other notices`);
  }
  const recipe = await recipeOf(name, flags.recipes, host);
  const senders = sendersOf(recipe);
  if (senders.length === 0) {
    throw new UsageError(
      `Cannot test the notices of "${recipe.name}": it sends none; declare them under "notify:", or add a step "notify"`,
    );
  }
  await using connections = await Connections.open(flags, host);
  const redactor = await redactorOf(connections);
  const deps = commandDeps({ connections, host, recipes: [recipe], redactor });
  const { machine } = deps;
  const id = machine.id();
  const send = async ({ about, step, index, place }: Sender): Promise<Tried> => {
    const text = testText(recipe, about);
    try {
      await withinTime(machine, about.channel, (signal) =>
        sendNotice(step, deps, {
          recipe,
          scope: manualScope(deps.calendars(), recipe, {
            runKey: `${recipe.name}/test/${id}`,
            at: host.now(),
            params: recipe.params,
          }),
          outputs: {},
          outcome: { state: "test", reason: text, failedStep: "", error: "" },
          testText: text,
          index,
          place,
          signal,
          log: () => {},
        }));
      return { ...about, sent: true };
    } catch (error) {
      return { ...about, sent: false, error: reasonOf(error, redactor) };
    }
  };
  const tried = await Promise.all(senders.map(send));
  if (flags.json) host.out(JSON.stringify(tried));
  else for (const each of tried) host.out(lineOf(each, host));
  return tried.every(({ sent }) => sent) ? 0 : 1;
}

async function recipeOf(name: string, folder: string | undefined, host: Host): Promise<CompiledRecipe> {
  if (await host.readFile(name) !== undefined) return await loadToRun(name, { host, now: host.now });
  return await recipeNamed(name, { folder, host, now: host.now, toRun: true });
}

/** Returns the channels of all notices, and the steps that send. */
function sendersOf({ notify = [], steps }: CompiledRecipe): Sender[] {
  const notices = notify.flatMap((notice, index) =>
    channelsOf(notice).map(({ name: channel, isFallback: fallback, step }, place): Sender => ({
      about: { notice: index + 1, on: notice.on, channel, fallback },
      step,
      index,
      place,
    }))
  );
  const sending = steps.filter(({ uses }) => uses === "notify").map((step, place): Sender => {
    const written = Object(step.written ?? {});
    const channel = notifyChannels.filter((each) => written[each] !== undefined).join(" and ");
    return { about: { step: step.id, channel }, step, index: notify.length, place };
  });
  return [...notices, ...sending];
}

const testText = ({ name }: CompiledRecipe, about: About) => {
  const which = "step" in about
    ? `step "${about.step}" of "${name}" by ${about.channel}`
    : `notice ${about.notice} of "${name}" by ${about.channel}${about.fallback ? " (fallback)" : ""}`;
  return `Test by hsgate: ${which}. This is only a test.`;
};

function lineOf({ sent, error, ...about }: Tried, host: Host): string {
  const which = "step" in about
    ? `step "${about.step}" by ${about.channel}`
    : `notice ${about.notice} (${about.on}) by ${about.channel}${about.fallback ? ", fallback" : ""}`;
  return `${which}  ${
    paint(host, sent ? "green" : "red", sent ? "sent" : `not sent: ${plain(error ?? "")}`)
  }`;
}
