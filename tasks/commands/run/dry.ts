/**
 * Runs `hsgate run --dry-run`: shows the steps, and every write that a run would make now.
 *
 * @module
 */
import { messageOf } from "../../../lib/errors.ts";
import { ownTemporaryFolder } from "../../../lib/owned_files.ts";
import { calendarsOf, clockOf } from "../../terminal/arguments.ts";
import type { Client } from "../../../lib/client/client.ts";
import { Market } from "../../../lib/dictionaries/market.ts";
import { manualScope } from "../../../lib/recipes/engine/step_context.ts";
import { manualRunKey, whyOutside } from "../../../lib/runner/schedule/plan_run.ts";
import {
  type DryRun,
  dryRunRecipe,
  type DryState,
  type DryStep,
  type PlannedWrite,
} from "../../../lib/recipes/run_recipe.ts";
import type { CompiledRecipe } from "../../../lib/recipes/mod.ts";
import { shownAddress } from "../../../lib/transports/net/address.ts";
import { report } from "../../terminal/error_report.ts";
import { exitCodeOf } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { cellOf, type Color, paint, plain, widthOf, wrapped } from "../../terminal/print.ts";
import type { RunInput } from "../run.ts";
import { type Connection, Connections } from "./connections.ts";
import { paramsOf } from "./params.ts";
import { shortResult, skipReason } from "./summaries.ts";
import { ulid } from "../../../lib/std/ulid.ts";
import { redactorOf, secretReader } from "./deps.ts";

/** Shows what a run would do. If a step that reads fails, ends with the exit code of that error. */
export async function runDry(recipe: CompiledRecipe, { flags, host }: RunInput): Promise<number> {
  const params = paramsOf(recipe, flags.param);
  const given = flags.now === undefined ? undefined : clockOf(flags.now, host);
  await using connections = await Connections.open(flags, host, {
    readOnly: true,
    ...given !== undefined && { now: given },
  });
  const connection = connections.connectionOf(recipe);
  const now = given ?? connections.timeOf(recipe) ?? host.now;
  const redactor = await redactorOf(connections);
  await using folder = await temporaryFolder();
  const fail = (error: unknown) => {
    redactor.error(error);
    throw error;
  };
  const found = await dryRunRecipe(recipe, {
    scope: manualScope(calendarsOf(host), recipe, {
      runKey: manualRunKey(recipe.name, ulid(now())),
      at: now(),
      params,
    }),
    now,
    calendars: calendarsOf(host),
    out: folder.path,
    signal: host.signal,
    client: () => connections.of(recipe),
    secret: secretReader([recipe], host, redactor),
    redactor,
  }).catch(fail);
  if (found.error === undefined) {
    await findOrders(found.writes, () => connections.of(recipe), host.signal).catch(fail);
  }
  // A real run checks its window against the real time, even if its simulated broker has another clock.
  const real = (given ?? host.now)();
  const outside = recipe.class === "write" ? whyOutside(calendarsOf(host), recipe, real, real) : undefined;
  // Redact plain data and errors separately. The redactor changes only texts, so the cast is safe.
  const { error, ...rest } = found;
  const shown = redactor.data(rest) as DryRun;
  redactor.error(error);
  if (flags.json) host.out(JSON.stringify(jsonOf(shown, { error, outside })));
  else for (const line of linesOf(shown, { recipe, connection, outside, host })) host.out(line);
  if (error !== undefined) {
    if (!flags.json) throw error;
    // The document contains the error, and --json prints one document.
    report(error, undefined, host);
    return exitCodeOf(error);
  }
  return found.ok ? 0 : 7;
}

/**
 * Adds details of the order to each write about an order, because a person does not recognize an order by its number.
 */
async function findOrders(
  writes: readonly PlannedWrite[],
  client: () => Promise<Client>,
  signal: AbortSignal,
): Promise<void> {
  for (const { uses, plan } of writes) {
    if (!uses.startsWith("orders.") || !isCall(plan)) continue;
    const { market, orderId } = plan.params as { market?: unknown; orderId?: unknown }; // both are checked below
    if (!Market.has(market) || typeof orderId !== "string") continue;
    for await (const row of (await client()).orders.today({ market }, { signal })) {
      if (row.orderId !== orderId) continue;
      const { symbol, side, quantity, unfilledQuantity, price, status } = row;
      Object.assign(plan, { order: { symbol, side, quantity, unfilledQuantity, price, status } });
      break;
    }
  }
}

async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await ownTemporaryFolder({ prefix: "hsgate-dry-run-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

function jsonOf(
  { name, ok, steps, writes }: DryRun,
  { error, outside }: { error: unknown; outside: string | undefined },
) {
  return {
    name,
    ok,
    // Leave out data that was read: it may be long, and it is not part of the plan.
    steps: steps.map(({ output: _, ...step }) => step),
    writes,
    ...outside !== undefined && { outsideWindow: outside },
    ...error !== undefined && { error: messageOf(error) },
  };
}

const signs: Readonly<Record<DryState, readonly [sign: string, color?: Color]>> = {
  read: ["✓", "green"],
  planned: ["→", "yellow"],
  open: ["→", "yellow"],
  "left-out": ["–", "dim"],
  "not-done": ["·", "dim"],
  failed: ["✗", "red"],
};

interface ShowOptions {
  recipe: CompiledRecipe;
  connection: Connection;
  outside: string | undefined;
  host: Host;
}

function linesOf(
  { steps, writes, ok }: DryRun,
  { recipe, connection, outside, host }: ShowOptions,
): string[] {
  const [ids, uses] = [steps.map(({ id }) => widthOf(id)), steps.map((step) => widthOf(step.uses))];
  const lines = steps.flatMap((step) => {
    const [sign, color] = signs[step.state];
    const name = step.id.padEnd(Math.min(28, Math.max(...ids)));
    const kind = step.uses.padEnd(Math.min(24, Math.max(...uses)));
    const head = `${name}  ${kind}  `;
    const [first = "", ...more] = wrapped(host, plain(wordsOf(step)), 4);
    // Text that does not fit next to the name is on the lines below.
    const fits = widthOf(head) + widthOf(first) + 2 <= host.size().columns || !host.isTerminal;
    const words = more.length === 0 && fits ? [`${head}${first.trim()}`] : [head, first, ...more];
    return words.map((line, index) => (index === 0 ? `${paint(host, color, sign)} ${line}` : line).trimEnd());
  });
  const writer = recipe.class === "write";
  if (!writer) return [...lines, "Dry run: the recipe writes nothing at the broker, so no step was run."];
  return [
    ...lines,
    "",
    ...writes.length === 0
      ? [
        ok ? "It would write nothing at the broker now." : "Its writes are unknown, because a step failed.",
      ]
      : [`It would write, ${placeOf(connection)}, in this order:`],
    ...writes.flatMap((write) => writeLines(write, host)),
    ...ok || writes.length === 0 ? [] : ["Further writes are unknown, because a step failed."],
    ...outside === undefined ? [] : [`A run now would be rejected: ${outside}`],
    "Dry run: nothing was written; only steps that read were run.",
  ];
}

function wordsOf({ state, effect, plan, dependsOn = [], reason, output }: DryStep): string {
  switch (state) {
    case "read":
      return `read: ${shortResult(output) || "done"}`;
    case "planned":
      return effect === "write" ? "would write, see below" : `not done, would ${inWords(plan)}`;
    case "open":
      return dependsOn.length === 0 ? "would write" : `depends on ${quotedNames(dependsOn)}`;
    case "left-out":
      return `skipped: ${skipReason(reason)}`;
    case "not-done":
      return effect === "read" ? "would read; a dry run does not do it" : "a dry run does not do it";
    case "failed":
      return `failed: ${reason}`;
  }
}

const quotedNames = (names: readonly string[]) => names.map((name) => `"${name}"`).join(", ");

/** Describes the plan of a step that does not write at the broker, such as `tell "Margin is thin" by chat`. */
function inWords(plan: unknown): string {
  if (typeof plan !== "object" || plan === null) return cellOf(plan);
  return Object.entries(plan).filter(([, value]) => !isNothing(value)).map(([name, value]) =>
    `${name} ${
      typeof value === "string" ? `"${value}"` : Array.isArray(value) ? value.join(", ") : cellOf(value)
    }`
  ).join(" ");
}

const isNothing = (value: unknown) =>
  value === undefined || value === null || Array.isArray(value) && value.length === 0 ||
  typeof value === "object" && Object.keys(value).length === 0;

function placeOf(connection: Connection): string {
  if (connection.to === "gateway") return `over the gateway at ${shownAddress(connection.url)}`;
  return connection.to === "direct" ? "over the broker's own socket" : "only at the simulated broker";
}

/** Formats one write: a line with its operation and step, then a line for each detail. */
function writeLines(
  { order, step, uses, plan, dependsOn = [], written }: PlannedWrite,
  host: Host,
): string[] {
  const head = `  ${order}. ${paint(host, "bold", uses)}  (step "${step}")`;
  // Never cut the content of a write.
  const detail = (text: string) => wrapped(host, plain(text), 7);
  const unknown = dependsOn.length === 0 ? [] : detail(`depends on the outcome of ${quotedNames(dependsOn)}`);
  // The real run looks up the subject of this write again, after the writes above.
  const isLookedUpAgain = order > 1 && plan !== undefined && !isCall(plan);
  const before = isLookedUpAgain ? detail("as of now, before the writes above:") : [];
  return [head, ...unknown, ...before, ...aboutOf(plan ?? written).flatMap(detail)];
}

const isCall = (plan: unknown): plan is { call: string; params: unknown; order?: unknown } =>
  typeof plan === "object" && plan !== null && "call" in plan && "params" in plan;

function aboutOf(plan: unknown): string[] {
  if (typeof plan !== "object" || plan === null) return plan === undefined ? [] : [cellOf(plan)];
  // For a call, the line above names the operation.
  if (isCall(plan)) {
    const { order } = plan;
    return [...order === undefined ? [] : [`the order: ${rowText(order)}`], ...aboutOf(plan.params)];
  }
  return Object.entries(plan).flatMap(([name, value]) => {
    if (Array.isArray(value) && value.length === 0) return [`${name}: nothing`];
    if (Array.isArray(value) && value.every((each) => typeof each === "object")) {
      return value.map((each) => `${name} ${rowText(each)}`);
    }
    return isNothing(value) ? [] : [`${name} ${cellOf(value)}`];
  });
}

/** Describes an order in words, and anything else by its members. */
function rowText(row: unknown): string {
  if (typeof row !== "object" || row === null) return cellOf(row);
  const { symbol, side, quantity, unfilledQuantity, price, orderId, ...rest } = row as Record<
    string,
    unknown
  >;
  const others = Object.entries(rest).map(([name, value]) => `${name} ${cellOf(value)}`);
  if (symbol === undefined || side === undefined) {
    return [...Object.entries(row).map(([name, value]) => `${name} ${cellOf(value)}`)].join(", ");
  }
  const open = unfilledQuantity === undefined || unfilledQuantity === quantity
    ? ""
    : ` (${cellOf(unfilledQuantity)} unfilled)`;
  const at = price === undefined ? "" : ` at ${cellOf(price)}`;
  return [
    `${cellOf(side)} ${cellOf(quantity)} ${cellOf(symbol)}${at}${open}`,
    orderId === undefined ? "" : `order ${cellOf(orderId)}`,
    ...others,
  ].filter(Boolean).join(", ");
}
