import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { readExecutionTerms } from "../lib/rebalance/input/terms.ts";
import {
  isDate,
  type Machine,
  machineWith,
  ManualClock,
  orAborted,
  randomFrom,
  readInstant,
  systemMachine,
  wait,
  waitUnlessAborted,
} from "../lib/time.ts";

/** Returns a machine for one timer, which fires when the test calls `state.ring()`. */
function oneTimer() {
  const state = { ms: 0, cancelled: 0, ring: () => {} };
  const machine: Pick<Machine, "setTimer"> = {
    setTimer(ms, callback) {
      Object.assign(state, { ms, ring: callback });
      return () => void state.cancelled++;
    },
  };
  return { state, machine };
}

Deno.test("wait() ends with the machine's timer and leaves the signal without a listener", async () => {
  const { state, machine } = oneTimer();
  const controller = new AbortController();
  const waiting = wait(machine, 250, controller.signal);
  assertEquals(state.ms, 250);
  state.ring();
  await waiting;
  controller.abort();
  assertEquals(state.cancelled, 0);
});

Deno.test("wait() rejects with the reason of its signal and cancels the timer", async () => {
  const { state, machine } = oneTimer();
  const controller = new AbortController();
  const waiting = wait(machine, 250, controller.signal);
  controller.abort(new RangeError("given up"));
  await assertRejects(() => waiting, RangeError, "given up");
  assertEquals(state.cancelled, 1);
  state.ms = 0;
  await assertRejects(() => wait(machine, 250, controller.signal), RangeError, "given up");
  assertEquals(state.ms, 0); // no timer was set
});

Deno.test("waitUnlessAborted() says whether the whole time passed", async () => {
  const { state, machine } = oneTimer();
  const controller = new AbortController();
  const whole = waitUnlessAborted(machine, 1, controller.signal);
  state.ring();
  assertEquals(await whole, true);
  const cut = waitUnlessAborted(machine, 1, controller.signal);
  controller.abort();
  assertEquals(await cut, false);
});

Deno.test("orAborted() rejects with the reason of an aborted signal, and otherwise returns the result", async () => {
  const late = Promise.reject(new TypeError("nobody asks any more"));
  await assertRejects(() => orAborted(late, AbortSignal.abort(new RangeError("over"))), RangeError, "over");
  assertEquals(await orAborted(Promise.resolve(7), new AbortController().signal), 7);
});

Deno.test("machineWith() replaces the given parts and keeps the others", () => {
  const clock = new ManualClock(1_000); // its method needs its own `this`
  const machine = machineWith(clock);
  clock.advance(5);
  const { now, monotonic } = machine;
  assertEquals(now(), 1_005);
  assertEquals(monotonic, systemMachine.monotonic);
});

Deno.test("randomFrom() gives the numbers of mulberry32", () => {
  const random = randomFrom(1);
  // From the published C source of mulberry32 with seed 1, as whole numbers of 32 bits.
  assertEquals([random(), random(), random()].map((each) => each * 2 ** 32), [
    2693262067,
    11749833,
    2265367787,
  ]);
});

Deno.test("readInstant() and isDate() know which days and times exist, so that no deadline moves to another day", () => {
  const known: [string, string][] = [
    ["2024-02-29T15:30:00+08:00", "2024-02-29T07:30:00.000Z"],
    ["2025-08-15T10:00Z", "2025-08-15T10:00:00.000Z"],
    ["2025-08-15T10:00:00.5-04:00", "2025-08-15T14:00:00.500Z"],
  ];
  for (const [text, instant] of known) assertEquals(readInstant(text), Date.parse(instant), text);
  const wrong = [
    "2025-02-30T15:30:00+08:00",
    "2025-11-31T00:00Z",
    "2025-08-15T24:00Z",
    "2025-08-15T10:00",
    "x",
  ];
  for (const text of wrong) assertEquals(readInstant(text), undefined, text);
  for (const date of ["2024-02-29", "2025-12-31"]) assertEquals(isDate(date), true, date);
  for (const date of ["2025-02-29", "2025-04-31", "2025-00-10", "2025-8-15", "2025-08-15T00:00Z", 20250815]) {
    assertEquals(isDate(date), false, String(date));
  }
  readExecutionTerms({ deadline: "2025-02-28T15:30:00+08:00" }); // control
  assertThrows(() => readExecutionTerms({ deadline: "2025-02-30T15:30:00+08:00" }), Error, "deadline");
});
