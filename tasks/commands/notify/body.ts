/**
 * Runs `hsgate notify --test`.
 *
 * @module
 */
import { reasonOf } from "../../../lib/credentials.ts";
import { sendNotice } from "../../../lib/runner/notify/notice_step.ts";
import { channelsOf, withinTime } from "../../../lib/runner/notify/notify.ts";
import { manualScope } from "../../../lib/recipes/engine/step_context.ts";
import type { CompiledRecipe, NoticeChannel } from "../../../lib/recipes/mod.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { NotifyInput } from "../notify.ts";
import { paint, plain } from "../../terminal/print.ts";
import { loadToRun, recipeNamed } from "../shared/recipe_files.ts";
import { Connections } from "../run/connections.ts";
import { commandDeps, redactorOf } from "../run/deps.ts";

/** Result of the test of one channel. */
interface Tried {
  notice: number;
  on: string;
  channel: string;
  fallback: boolean;
  sent: boolean;
  error?: string;
}

/** Sends a test message to each channel of a recipe. */
export async function run({ args: [name = ""], flags, host }: NotifyInput): Promise<number> {
  if (!flags.test) {
    throw new UsageError(`Cannot notify: write "notify --test ${name}"; only runs send other notices`);
  }
  const recipe = await recipeOf(name, flags.recipes, host);
  const channels = (recipe.notify ?? []).flatMap((notice, index) =>
    channelsOf(notice).map((channel, place) => ({ on: notice.on, channel, index, place }))
  );
  if (channels.length === 0) {
    throw new UsageError(
      `Cannot test the notices of "${recipe.name}": it has none; declare them under "notify:"`,
    );
  }
  await using connections = await Connections.open(flags, host);
  const redactor = await redactorOf(connections);
  const deps = commandDeps({ connections, host, recipes: [recipe], redactor });
  const { machine } = deps;
  const id = machine.id();
  const send = async ({ on, channel, index, place }: typeof channels[number]): Promise<Tried> => {
    const about = { notice: index + 1, on, channel: channel.name, fallback: channel.isFallback };
    try {
      await withinTime(machine, channel.name, (signal) =>
        sendNotice(channel.step, deps, {
          recipe,
          scope: manualScope(deps.calendars(), recipe, {
            runKey: `${recipe.name}/test/${id}`,
            at: host.now(),
            params: recipe.params,
          }),
          outputs: {},
          outcome: { state: "test", reason: testText(recipe, channel, index), failedStep: "", error: "" },
          testText: testText(recipe, channel, index),
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
  const tried = await Promise.all(channels.map(send));
  if (flags.json) host.out(JSON.stringify(tried));
  else for (const each of tried) host.out(lineOf(each, host));
  return tried.every(({ sent }) => sent) ? 0 : 1;
}

async function recipeOf(name: string, folder: string | undefined, host: Host): Promise<CompiledRecipe> {
  if (await host.readFile(name) !== undefined) return await loadToRun(name, { host, now: host.now });
  return await recipeNamed(name, { folder, host, now: host.now, toRun: true });
}

const testText = ({ name }: CompiledRecipe, { name: channel, isFallback }: NoticeChannel, index: number) =>
  `Test by hsgate: notice ${index + 1} of "${name}" by ${channel}${
    isFallback ? " (fallback)" : ""
  }. This is only a test.`;

function lineOf({ notice, on, channel, fallback, sent, error }: Tried, host: Host): string {
  const which = `notice ${notice} (${on}) by ${channel}${fallback ? ", fallback" : ""}`;
  return `${which}  ${
    paint(host, sent ? "green" : "red", sent ? "sent" : `not sent: ${plain(error ?? "")}`)
  }`;
}
