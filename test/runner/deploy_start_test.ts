import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assertEquals } from "@std/assert";
import { Redactor } from "../../lib/redact.ts";
import { jitterOf } from "../../lib/runner/schedule/plan_run.ts";
import { runLatestSlot } from "../../lib/runner/run/script.ts";
import { at, type Bench, bench, every, MINUTE, recipe, settle, step } from "./support.ts";

const depsOf = ({ store, machine }: Bench) => ({
  calendars: () => builtInCalendars,
  store,
  machine,
  out: "out",
  redactor: new Redactor(),
  client: () => Promise.reject(new TypeError("none")),
  secret: () => Promise.reject(new TypeError("none")),
});
const claimerOf = (holder: string) => ({ holder, leaseMs: 30_000, accountOf: () => "default" });

Deno.test("runLatestSlot() waits for a run that jitter delays, and says until when", async () => {
  const beat = recipe({ name: "beat", schedules: [every(30 * MINUTE, 10 * MINUTE)] });
  const key = "beat/s1/2025-08-15T02:30:00Z";
  const due = at("2025-08-15T02:30:00Z") + jitterOf(key, 10 * MINUTE);
  await using b = await bench({ start: "2025-08-15T02:30:00Z", recipes: [beat] });
  const told: { runKey: string; untilAt: number; reason: string }[] = [];
  const work = runLatestSlot(beat, {
    deps: depsOf(b),
    claimer: claimerOf("a"),
    onWait: (wait) => void told.push(wait),
  });
  await settle();
  assertEquals(told, [{ runKey: key, untilAt: due, reason: "not-due" }]);
  assertEquals(due > b.machine.now(), true, "the test needs a slot that jitter delays");
  await b.machine.pass(10 * MINUTE);
  const result = await work;
  assertEquals([result?.ran, result?.outcome.state], [true, "ok"]);
});

Deno.test("runLatestSlot() leaves a slot to the process that is running it", async () => {
  let end = () => {};
  let ran = 0;
  const eod = recipe({
    steps: [step({
      run: () => {
        ran++;
        return new Promise<void>((resolve) => end = resolve);
      },
    })],
  });
  await using b = await bench({ start: "2025-12-23T08:50:00Z", recipes: [eod] });
  const deps = depsOf(b);
  const first = runLatestSlot(eod, { deps, claimer: claimerOf("a") });
  await settle();
  const second = await runLatestSlot(eod, { deps, claimer: claimerOf("b"), patienceMs: 60_000 });
  assertEquals(second, {
    runKey: "eod/s1/2025-12-23",
    ran: false,
    outcome: { state: "running", reason: undefined },
  });
  end();
  assertEquals([(await first)?.outcome.state, ran], ["ok", 1]);
});

Deno.test("runLatestSlot() waits for the account no longer than its limit", async () => {
  let end = () => {};
  const holding = recipe({
    name: "holding",
    needsAccount: true,
    steps: [step({ run: () => new Promise<void>((resolve) => end = resolve) })],
  });
  const waiting = recipe({ name: "waiting", needsAccount: true });
  await using b = await bench({ start: "2025-12-23T08:50:00Z", recipes: [holding, waiting] });
  const deps = depsOf(b);
  const first = runLatestSlot(holding, { deps, claimer: claimerOf("a") });
  await settle();
  const options = { deps, claimer: claimerOf("b"), patienceMs: 5_000 };
  const refused = runLatestSlot(waiting, options);
  await b.machine.pass(6_000);
  assertEquals((await refused)?.outcome, { state: "refused", reason: "account" });
  const patient = runLatestSlot(waiting, options);
  await settle();
  end();
  await b.machine.pass(1_000);
  assertEquals([(await first)?.outcome.state, (await patient)?.outcome.state], ["ok", "ok"]);
});
