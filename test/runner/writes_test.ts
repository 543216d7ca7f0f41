import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { approveRun, refuseRun } from "../../lib/runner/approving.ts";
import { rerun } from "../../lib/runner/backfill.ts";
import { settleRun } from "../../lib/runner/recovery.ts";
import { Ledger } from "../../lib/runner/ledger.ts";
import { verifyLedger } from "../../lib/runner/ledger_care.ts";
import { doubtAbout } from "../../lib/runner/ledger_place.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/pausing.ts";
import { addLatestSlot, addManualRun } from "../../lib/runner/starts.ts";
import { at, bench, close45, DAY, HOUR, MINUTE, orders, recipe, runsOf, step } from "./support.ts";

const heldOf = (ledger: Ledger) =>
  ledger.all<{ line: string }>(
    "select run_key || ' ' || data as line from event where kind = 'held' order by seq",
  )
    .map(({ line }) => line);

Deno.test("doubtAbout() knows memory, folders that are emptied, layers of containers and networks", () => {
  const temporary = ["/tmp", "/data/scratch/"];
  const about = (path: string, fileSystem?: string) => doubtAbout(path, { fileSystem, temporary });
  assertEquals(about(":memory:"), { why: "it is held in memory", outlives: false });
  assertEquals(about("/dev/shm/a.db", "tmpfs"), { why: "it lies in memory (tmpfs)", outlives: false });
  assertEquals(about("/data/scratched.db", "ext4"), undefined);
  assertEquals(about("/home/me/a.db"), undefined);
  assertEquals(about("/mnt/net/a.db", "nfs4")?.outlives, false);
  assertStringIncludes(about("/mnt/net/a.db", "nfs4")!.why, "network file system (nfs4)");
  // What outlives the process is warned of, the rest refused.
  assertEquals(about("/home/me/a.db", "overlay")?.outlives, true);
  assertEquals(about("/data/scratch/a.db", "ext4"), {
    why: 'it lies in "/data/scratch/", which the system empties',
    outlives: true,
  });
  assertEquals(about("/tmp/a.db")?.why, 'it lies in "/tmp", which the system empties');
});

Deno.test("a ledger that does not last holds back writes and lets reads run, and says so once", async () => {
  const began: string[] = [];
  const ledger = new Ledger(":memory:", { doubt: "it is held in memory" });
  using b = bench({ start: "2025-12-22T00:00Z", recipes: [orders(began), recipe()], ledger });
  b.scheduler.start();
  await b.host.pass(DAY);
  await b.scheduler.stop();
  assertEquals(began, []);
  assertEquals(runsOf(ledger), ["orders/s1/2025-12-22 skipped misfire live", "eod/s1/2025-12-22 ok live"]);
  const because = "the ledger does not last: it is held in memory";
  assertEquals(heldOf(ledger), [`orders/s1/2025-12-22 {"because":"unsafe","by":"${because}"}`]);
  const told = b.told.flatMap((event) =>
    event.type === "held" ? [`${event.runKey} ${event.because} ${event.by}`] : []
  );
  assertEquals(told, [`orders/s1/2025-12-22 unsafe ${because}`]);
});

Deno.test("a clock behind the ledger holds back writes until it has caught up", async () => {
  const began: string[] = [];
  using b = bench({ start: "2025-12-22T01:59:50Z", recipes: [orders(began)] });
  b.scheduler.tick();
  // Another process with a clock that was ahead has looked, and the slot is listed by it.
  b.host.jump(MINUTE);
  b.scheduler.tick();
  b.host.jump(-45_000);
  await b.scheduler.drain();
  assertEquals([began, heldOf(b.ledger).length], [[], 1]);
  assertStringIncludes(heldOf(b.ledger)[0]!, "the clock is behind the ledger");
  b.host.jump(43_000); // two seconds are let pass
  await b.scheduler.drain();
  assertEquals(began, ["orders/s1/2025-12-22#one"]);
});

Deno.test("a write step does not begin outside the window, though its run began within it", async () => {
  const began: string[] = [];
  let readMs = 0;
  const slow = orders(began, {
    timeoutMs: 2 * DAY,
    steps: [
      step({ id: "look", run: ({ sleep }) => sleep!(readMs) }),
      step({
        id: "write",
        effect: "write",
        run: ({ stepKey }) => Promise.resolve(void began.push(stepKey)),
      }),
    ],
  });
  using b = bench({ start: "2025-12-22T00:00Z", recipes: [slow] });
  b.scheduler.start();
  readMs = 5 * HOUR + 49 * MINUTE; // until 15:49, a minute before the window closes
  await b.host.pass(12 * HOUR);
  readMs = 5 * HOUR + 51 * MINUTE;
  await b.host.pass(DAY);
  // Over night: the window of the next day is open, and it is not that of the slot.
  b.host.jump(at("2025-12-29T00:00Z") - b.host.now());
  readMs = 24.5 * HOUR;
  await b.host.pass(26.75 * HOUR);
  await b.scheduler.stop();
  assertEquals(began, ["orders/s1/2025-12-22#write"]);
  assertEquals(runsOf(b.ledger).filter((line) => !line.includes("holiday")), [
    "orders/s1/2025-12-22 ok live",
    "orders/s1/2025-12-23 failed window live",
    "orders/s1/2025-12-24 skipped deadline live",
    "orders/s1/2025-12-29 failed window live",
    "orders/s1/2025-12-30 skipped overlap live",
  ]);
  assertEquals(verifyLedger(b.ledger), []);
});

Deno.test("a write keeps to the session as it is: half-days shorten its window", async () => {
  const began: string[] = [];
  // Until the close less ten minutes would be noon less ten; from five hours before it would be 07:00.
  const late = orders(began, {
    schedules: [{ ...close45, at: { time: "08:00" } }],
    misfire: { graceMs: DAY, action: "skip", max: 0 },
    window: {
      mic: "XHKG",
      from: { anchor: "close", offsetMs: -5 * HOUR },
      to: { anchor: "open", offsetMs: 5 * HOUR },
    },
    steps: [
      step({
        effect: "write",
        run: ({ now }) => Promise.resolve(void began.push(new Date(now()).toISOString())),
      }),
    ],
  });
  using b = bench({ start: "2025-12-23T12:00Z", recipes: [late] });
  b.scheduler.start();
  await b.host.pass(14 * HOUR);
  await b.scheduler.stop();
  assertEquals(began, ["2025-12-24T01:30:00.000Z"]);
  const deadline = b.ledger.get<{ at: number }>("select deadline_at as at from run")!.at;
  assertEquals(deadline, at("2025-12-24T03:50:00Z"));
});

Deno.test("two writes of one account never run at once, not even when a lease has just run out", async () => {
  const began: string[] = [];
  const hang = orders(began, {
    name: "hang",
    needsAccount: false,
    steps: [step({ effect: "write", run: () => new Promise(() => {}) })],
  });
  using b = bench({ start: "2025-12-22T01:59Z", recipes: [hang, orders(began)] });
  b.scheduler.start();
  await b.host.pass(2 * MINUTE);
  assertEquals(runsOf(b.ledger), [
    "hang/s1/2025-12-22 running live",
    "orders/s1/2025-12-22 due held:account live",
  ]);
  // Its process is gone and its lease too, and nobody has taken it over yet: it may still be writing.
  b.ledger.run("update run set lease_until = 0 where recipe = 'hang'");
  b.ledger.run("update lease set until = 0");
  const second = b.another("p2", { recipes: [orders(began)] });
  await second.drain();
  assertEquals(began, []);
});

Deno.test("an open write holds back other writes of the account, and settling lets them go", async () => {
  const began: string[] = [];
  const lost = orders(began, {
    name: "lost",
    schedules: [{ ...close45, at: { anchor: "open", offsetMs: 10 * MINUTE } }],
    steps: [step({ effect: "write", run: () => Promise.reject(new Error("the line went dead")) })],
  });
  using b = bench({ start: "2025-12-22T01:00Z", recipes: [lost, orders(began)] });
  b.scheduler.start();
  await b.host.pass(62 * MINUTE);
  assertEquals(runsOf(b.ledger), [
    "lost/s1/2025-12-22 unknown write live",
    "orders/s1/2025-12-22 due held:recovery live",
  ]);
  assertEquals(heldOf(b.ledger), ['orders/s1/2025-12-22 {"because":"recovery","by":"lost/s1/2025-12-22"}']);
  const settle = { runKey: "lost/s1/2025-12-22", actor: "me", because: "none in the app", now: b.host.now() };
  settleRun(b.ledger, { ...settle, state: "unknown" });
  await b.host.pass(MINUTE);
  assertEquals(began, [], "unknown keeps it closed");
  settleRun(b.ledger, { ...settle, state: "failed" });
  await b.host.pass(MINUTE);
  await b.scheduler.stop();
  assertEquals(began, ["orders/s1/2025-12-22#one"]);
});

Deno.test("no way leads to a second attempt at a write, or to one of the past", () => {
  const began: string[] = [];
  const write = orders(began);
  using b = bench({ start: "2025-12-22T03:00Z", recipes: [write] });
  const start = { now: b.host.now(), drawTraceId: () => "1" };
  // By hand twice: two keys, each within the window.
  const first = addManualRun(b.ledger, write, { ...start, id: "1" });
  addManualRun(b.ledger, write, { ...start, id: "2" });
  const deadlines = b.ledger.all<{ at: number }>("select deadline_at as at from run").map((row) => row.at);
  assertEquals(deadlines, [at("2025-12-22T07:50:00Z"), at("2025-12-22T07:50:00Z")]);
  for (
    const [now, why] of [
      [at("2025-12-22T08:00Z"), "its window closed at 2025-12-22T07:50:00Z"],
      [at("2025-12-22T01:00Z"), "its window opens at 2025-12-22T01:30:00Z"],
      [at("2025-12-25T03:00Z"), "XHKG has no session on the day"],
      [at("2031-01-06T03:00Z"), "the calendar of XHKG does not know the day"],
    ] as const
  ) {
    assertThrows(() => addManualRun(b.ledger, write, { ...start, now, id: "3" }), TypeError, why);
  }
  assertThrows(
    () => rerun(b.ledger, { runKey: first, fromStart: true, now: b.host.now() }),
    TypeError,
    "never repeated",
  );
  assertThrows(
    () => resumeRecipe(b.ledger, write, { ...start, loadedAt: 0, lookbackMs: DAY, catchUp: true }),
    TypeError,
    "the past cannot be traded",
  );
  // Its deadline may be forced, its window not: the slot is of 10:00, and it is past 15:50.
  const hurried = { ...write, deadlineMs: MINUTE };
  const force = (now: string) =>
    addLatestSlot(b.ledger, hurried, { ...start, now: at(now), forceDeadline: true });
  assertThrows(() => force("2025-12-22T07:51Z"), TypeError, "its window closed at 2025-12-22T07:50:00Z");
  assertEquals(force("2025-12-22T02:04Z")?.state, "due");
  assertEquals(runsOf(b.ledger)[0], "orders/s1/2025-12-22 due live");
});

Deno.test("a recipe that begins to write does not do so for a slot that was listed before", async () => {
  const began: string[] = [];
  const reads = recipe({ name: "orders", schedules: orders([]).schedules });
  using b = bench({ start: "2025-12-22T01:59Z", recipes: [reads] });
  b.scheduler.tick();
  b.host.jump(2 * MINUTE);
  b.scheduler.tick();
  assertEquals(runsOf(b.ledger), ["orders/s1/2025-12-22 due live"]);
  const edited = b.another("p2", { recipes: [orders(began)] });
  await edited.drain();
  assertEquals([began, runsOf(b.ledger)], [[], ["orders/s1/2025-12-22 skipped recipe_changed live"]]);
  assertThrows(
    () => rerun(b.ledger, { runKey: "orders/s1/2025-12-22", fromStart: true, now: 0, recipe: orders([]) }),
    TypeError,
    "never repeated",
  );
});

Deno.test("approveRun() and refuseRun() decide about runs that were missed; a window that closed decides first", async () => {
  const began: string[] = [];
  const asks = orders(began, { misfire: { graceMs: MINUTE, action: "ask", max: 0 } });
  using b = bench({ start: "2025-12-15T00:00Z", recipes: [asks] });
  b.scheduler.tick();
  const decide = async (day: string, then: (runKey: string) => void) => {
    b.host.jump(at(`${day}T03:00Z`) - b.host.now());
    b.scheduler.tick();
    then(`orders/s1/${day}`);
    b.scheduler.tick();
    await b.scheduler.drain();
    return runsOf(b.ledger).at(-1);
  };
  assertEquals(
    await decide(
      "2025-12-15",
      (runKey) => approveRun(b.ledger, { runKey, actor: "me", now: b.host.now(), recipe: asks }),
    ),
    "orders/s1/2025-12-15 ok catchup",
  );
  assertEquals(
    await decide("2025-12-16", (runKey) => refuseRun(b.ledger, { runKey, actor: "me", now: b.host.now() })),
    "orders/s1/2025-12-16 skipped not_approved live",
  );
  const tooLate = await decide("2025-12-17", (runKey) => {
    const row = approveRun(b.ledger, { runKey, actor: "me", now: at("2025-12-17T07:51Z"), recipe: asks });
    assertEquals([row.state, row.reason], ["skipped", "deadline"]);
  });
  assertEquals(tooLate, "orders/s1/2025-12-17 skipped deadline live");
  // Nobody answers: the window ends the question, and a scheduler writes it down.
  await decide("2025-12-18", () => {});
  assertEquals(runsOf(b.ledger).at(-1), "orders/s1/2025-12-18 waiting_approval misfire live");
  b.host.jump(6 * HOUR);
  b.scheduler.tick();
  assertEquals(runsOf(b.ledger).at(-1), "orders/s1/2025-12-18 skipped deadline live");
  assertEquals(began, ["orders/s1/2025-12-15#one"]);
  assertEquals(b.told.filter(({ type }) => type === "asked").length, 4);
  const actors = b.ledger.all<{ kind: string; data: string }>(
    "select kind, data from event where kind in ('approved', 'refused', 'approved_too_late') order by seq",
  ).map(({ kind, data }) => `${kind} ${data}`);
  assertEquals(actors, [
    'approved {"actor":"me"}',
    'refused {"actor":"me"}',
    'approved_too_late {"actor":"me","because":"its window closed at 2025-12-17T07:50:00Z"}',
  ]);
  assertThrows(
    () => approveRun(b.ledger, { runKey: "orders/s1/2025-12-15", actor: "me", now: 0 }),
    TypeError,
    'it is "ok"',
  );
});

Deno.test("a slot that a crontab line starts keeps to a pause", () => {
  using b = bench({ start: "2025-12-22T09:00Z", recipes: [recipe()] });
  b.scheduler.tick();
  pauseRecipe(b.ledger, "eod", { why: "away", now: b.host.now() });
  const row = addLatestSlot(b.ledger, recipe(), { now: b.host.now(), drawTraceId: () => "1" });
  assertEquals([row?.run_key, row?.state, row?.reason], ["eod/s1/2025-12-22", "skipped", "paused"]);
});
