/** Tests how a push recording treats a silent connection: as a problem while the exchange trades, otherwise not. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import type { Recorded } from "../../lib/recipes/kinds/watch.ts";
import { tradedMs } from "../../lib/recipes/kinds/trading_hours.ts";
import { sha256 } from "../../lib/sha256.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { PASSWORD, simulate } from "../cli/support.ts";
import { temporaryFolder } from "../runner/support.ts";
import { push as pushOf, startPushFarEnd } from "../support/push_far_end.ts";
import { waitUntil } from "../support/waits.ts";
import { startSilentProxy } from "../support/silent_proxy.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { type Noted, stepContext } from "./support.ts";

const at = (text: string) => Date.parse(text);
const MINUTE = 60_000;

Deno.test("tradedMs() counts continuous trading of the exchange that is open longest, without breaks", () => {
  const hk = (from: string, to: string) =>
    tradedMs(builtInCalendars, ["hk-stock"], at(`2025-08-15T${from}+08:00`), at(`2025-08-15T${to}+08:00`)) /
    MINUTE;
  assertEquals(hk("10:00", "10:05"), 5);
  assertEquals(hk("11:58", "12:03"), 2);
  assertEquals(hk("12:10", "12:50"), 0);
  assertEquals(hk("12:50", "13:10"), 10);
  assertEquals(hk("09:00", "09:40"), 10);
  assertEquals(
    tradedMs(builtInCalendars, ["hk-stock"], at("2025-08-16T10:00+08:00"), at("2025-08-16T11:00+08:00")),
    0,
  );
  // Night in Hong Kong is day in New York.
  const [from, to] = [at("2025-08-15T22:00+08:00"), at("2025-08-15T22:05+08:00")];
  assertEquals([
    tradedMs(builtInCalendars, ["hk-etf"], from, to),
    tradedMs(builtInCalendars, ["hk-etf", "us-stock"], from, to),
  ], [0, 5 * MINUTE]);
  assertEquals(tradedMs(builtInCalendars, [], from, to), 0);
  // Without a calendar, the exchange may be trading.
  assertEquals(
    tradedMs(builtInCalendars, ["hk-stock"], at("2150-01-05T12:00Z"), at("2150-01-05T12:05Z")),
    5 * MINUTE,
  );
});

for (
  const { name, time, breaks, ok, quiet } of [
    { name: "that is silent in the lunch break", time: "12:30", breaks: false, ok: true, quiet: true },
    {
      name: "that is silent while the exchange trades",
      time: "10:30",
      breaks: false,
      ok: false,
      quiet: undefined,
    },
    // Control: a connection that ends is a gap at any time.
    { name: "that ends in the lunch break", time: "12:30", breaks: true, ok: false, quiet: undefined },
  ]
) {
  Deno.test(`watch with a connection ${name} ends with ok: ${ok}`, async () => {
    await using simulator = await simulate();
    await using proxy = startSilentProxy(simulator.info.pushAddress);
    const began = Date.now();
    const now = () => at(`2025-08-15T${time}+08:00`) + Date.now() - began;
    const { gatewayUrl: url, tradePasswordKey } = simulator.info;
    await using client = createClient(
      gateway({ url, push: proxy.address, tradePasswordKey, pushIdleMs: breaks ? 0 : 300 }),
      { tradePassword: PASSWORD, machine: { now } },
    );
    using folder = temporaryFolder();
    const noted: Noted = { artifacts: [], logs: [] };
    let end = () => {};
    const recipe = await compileRecipe(
      `name: test
steps:
  - { id: rec, uses: watch, with: { securities: [00700.HK], topics: [quote], for: 10m, out: pushes } }
`,
      "test.yaml",
    );
    const context = {
      out: folder.path,
      now,
      client: () => Promise.resolve(client),
      sleep: () => new Promise<void>((resolve) => end = resolve),
    };
    const running = recipe.steps[0]!.run(stepContext(undefined, context, noted));
    const until = async (isSo: () => boolean) => {
      for (const limit = Date.now() + 30_000; !isSo();) {
        assert(Date.now() < limit, `the condition was not met: ${noted.logs.join("; ")}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    await until(() => proxy.accepted === 1);
    if (breaks) proxy.cut();
    else proxy.fallSilent();
    await until(() => noted.logs.some((line) => line.startsWith("pushes may be missing from ")));
    end();
    const result = await running as Recorded; // the output of the step
    assertEquals([result.ok, result.gaps[0]?.quiet], [ok, quiet]);
  });
}

/** Starts a step that records every order which the test's push server sends. */
async function startRecording(now: number) {
  await using stack = new AsyncDisposableStack();
  const simulator = stack.use(await simulate());
  const farEnd = stack.use(startPushFarEnd());
  const { gatewayUrl: url, tradePasswordKey } = simulator.info;
  const client = stack.use(
    createClient(gateway({ url, push: `127.0.0.1:${farEnd.port}`, tradePasswordKey }), {
      tradePassword: PASSWORD,
      fundAccounts: ["88001"],
      machine: { now: () => now },
    }),
  );
  const folder = stack.use(temporaryFolder());
  const noted: Noted = { artifacts: [], logs: [] };
  let end = () => {};
  const recipe = await compileRecipe(
    `name: test
steps:
  - { id: rec, uses: watch, with: { securities: [], orders: true, for: 10m, out: pushes } }
`,
    "test.yaml",
  );
  const context = {
    out: folder.path,
    now: () => now,
    client: () => Promise.resolve(client),
    sleep: () => new Promise<void>((resolve) => end = resolve),
  };
  const running = recipe.steps[0]!.run(stepContext(undefined, context, noted));
  const far = await farEnd.next();
  const all = stack.move();
  return {
    far,
    folder,
    noted,
    /** Ends the step. Resolves to its output. */
    async end(): Promise<Recorded> {
      end();
      return await running as Recorded; // the output of the step
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

Deno.test("watch records a push that has an impossible time, notes the time's offset and a gap, and continues", async () => {
  const now = at("2025-08-15T10:30+08:00");
  await using recording = await startRecording(now);
  const { far, folder } = recording;
  const order = (entrustNo: string, time: number, fundAccount = "88001") =>
    pushOf(1, "TradeStockDeliverNotify", { fundAccount, stockCode: "00700.HK", entrustNo }, time);
  const times = [Number.MAX_SAFE_INTEGER, 0, now - 7_200_000];
  await far.send(order("1", now), ...times.map((time, index) => order(`off-${index}`, time)));
  await far.send(order("8", now, "99009"), order("2", now));
  const rows = (name: string): Record<string, unknown>[] => {
    const path = [...walkFiles(folder.path)].find((each) => each.endsWith(`/${name}.jsonl`));
    if (path === undefined) return [];
    // The last line may not be written to its end yet.
    return Deno.readTextFileSync(path).split("\n").slice(0, -1).map((line) => JSON.parse(line));
  };
  await waitUntil("the last order is recorded", () => rows("order").some(({ orderId }) => orderId === "2"));
  const result = await recording.end();
  assertEquals(rows("order").map(({ orderId }) => orderId), ["1", "off-0", "off-1", "off-2", "2"]);
  assertEquals(rows("order").map(({ offMs }) => typeof offMs), [
    "undefined",
    ...Array(3).fill("number"),
    "undefined",
  ]);
  assertEquals(rows("unknown").map(({ expected, error }) => [expected, error]), [["order", "other-account"]]);
  const gaps = rows("gap").map(({ from, to }) => at(String(to)) - at(String(from)));
  assertEquals(gaps.slice(0, 2), [86_400_000, 86_400_000]);
  assert(gaps[2]! > 7_000_000 && gaps[2]! < 7_300_000, String(gaps[2]));
  assertEquals([result.ok, result.gaps.length, result.counts.order], [false, 3, 5]);
});

function* walkFiles(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* walkFiles(path);
    else yield path;
  }
}

Deno.test("watch keeps a thousand gaps in its output, however many pushes with wrong times arrive", async () => {
  const now = at("2025-08-15T10:30+08:00");
  await using recording = await startRecording(now);
  const { far, folder, noted } = recording;
  const count = 1_200;
  const order = (index: number) =>
    pushOf(1, "TradeStockDeliverNotify", {
      fundAccount: "88001",
      stockCode: "00700.HK",
      entrustNo: `${index}`,
    }, now - 7_200_000 - index * 1000);
  await far.send(...Array.from({ length: count }, (_, index) => order(index)));
  const linesOf = (name: string) => {
    const path = [...walkFiles(folder.path)].find((each) => each.endsWith(`/${name}.jsonl`));
    return path === undefined ? [] : Deno.readTextFileSync(path).split("\n").slice(0, -1);
  };
  await waitUntil("the last gap is recorded", () => linesOf("gap").length === count);
  const { ok, gaps, files } = await recording.end();
  assertEquals([ok, gaps.length], [false, 1_000]);
  const last: { from: string; to: string } = JSON.parse(linesOf("gap").at(-1)!);
  assertEquals([gaps.at(-1)!.from, gaps.at(-1)!.to], [last.from, last.to]);
  assert(gaps.at(-1)!.reason.startsWith("1000 or more gaps"), gaps.at(-1)!.reason);
  for (const { path, bytes, sha256: digest } of noted.artifacts) {
    const content = Deno.readFileSync(path);
    assertEquals([bytes, digest], [content.length, await sha256(content)]);
  }
  assertEquals(noted.artifacts.length, files.length);
});
