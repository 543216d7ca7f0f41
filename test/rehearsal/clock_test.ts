/** Tests of the virtual machine, its timers, and the turns of steps. */
import { assertEquals } from "@std/assert";
import { Turn, Work } from "../../lib/rehearsal/turn.ts";
import { Script } from "../../lib/rehearsal/script.ts";
import { Timers } from "../../lib/rehearsal/timers.ts";
import { VirtualMachine } from "../../lib/rehearsal/virtual_machine.ts";

const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

Deno.test("Timers fire in order of time, and timers of one instant in the order in which they were set", () => {
  const timers = new Timers();
  const rung: string[] = [];
  const set = (at: number, name: string) => timers.set(at, () => rung.push(name));
  set(30, "c");
  set(10, "a1");
  const off = set(20, "never");
  set(10, "a2");
  set(20, "b");
  set(10, "a3");
  off();
  assertEquals(timers.next, 10);
  for (let alarm = timers.take(20); alarm !== undefined; alarm = timers.take(20)) alarm.callback();
  assertEquals(rung, ["a1", "a2", "a3", "b"]);
  assertEquals([timers.next, timers.take(29)], [30, undefined]);
});

Deno.test("VirtualMachine has separate true time, wall clock and steady clock", () => {
  const machine = new VirtualMachine(1_000_000, 1);
  const process = machine.startProcess();
  const rung: number[] = [];
  process.setTimer(1000, () => rung.push(process.monotonic()));
  machine.setWall(-5000);
  assertEquals([machine.trueTime, process.now(), process.monotonic()], [1_000_000, 995_000, 0]);
  // While the machine sleeps its alarm waits, and true time continues.
  machine.sleep(60_000);
  assertEquals([machine.trueTime, process.now(), process.monotonic()], [1_060_000, 1_055_000, 0]);
  assertEquals([machine.ring(), machine.nextAlarm], [false, 1_061_000]);
  machine.moveTo(machine.nextAlarm);
  assertEquals([machine.ring(), rung], [true, [1000]]);
});

Deno.test("VirtualMachine fires no timer of a killed process, and fires the timers of the next process", () => {
  const machine = new VirtualMachine(0, 1);
  const [first, second] = [machine.startProcess(), machine.startProcess()];
  const rung: string[] = [];
  first.setTimer(10, () => rung.push("first"));
  second.setTimer(10, () => rung.push("second"));
  first.kill();
  machine.moveTo(10);
  while (machine.ring());
  assertEquals([rung, first.isAlive, second.isAlive], [["second"], false, true]);
});

Deno.test("VirtualMachine draws the same numbers from the same seed", () => {
  const draw = (seed: number) => {
    const { random } = new VirtualMachine(0, seed).startProcess();
    return [random(), random(), random()];
  };
  assertEquals(draw(7), draw(7));
  assertEquals(draw(7).every((number) => number >= 0 && number < 1), true);
  assertEquals(draw(7)[0] === draw(8)[0], false);
});

Deno.test("Turn is given to one step at a time, in the order of the requests", async () => {
  const turn = new Turn();
  const order: string[] = [];
  // The first takes longest; the others must not overtake each other.
  const work = async (name: string, ms: number) => {
    await turn.take();
    order.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, ms));
    order.push(`${name} ends`);
    turn.end();
  };
  const all = Promise.all([work("a", 20), work("b", 0), work("c", 5)]);
  await nextTurn();
  assertEquals(turn.isFree, false);
  await turn.free();
  assertEquals(order, ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  assertEquals(turn.isFree, true);
  await all;
});

Deno.test("Work ends its turn while it only waits, and takes the turn for a call during a wait", async () => {
  const turn = new Turn();
  const work = new Work(turn);
  const [wake, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const seen: [string, boolean][] = [];
  const see = (name: string) => void seen.push([name, turn.isFree]);
  const done = work.do(async () => {
    see("begins");
    const waiting = work.idle(() => wake.promise);
    await nextTurn();
    see("waits");
    const call = work.call(() => answer.promise);
    await nextTurn();
    see("waits and calls");
    answer.resolve();
    await call;
    see("waits again");
    wake.resolve();
    await waiting;
    see("goes on");
  });
  await done;
  see("is over");
  assertEquals(seen, [
    ["begins", false],
    ["waits", true],
    ["waits and calls", false],
    ["waits again", true],
    ["goes on", false],
    ["is over", true],
  ]);
});

Deno.test("Work that throws ends its turn", async () => {
  const turn = new Turn();
  const failed = await new Work(turn).do(() => Promise.reject(new TypeError("no"))).catch(({ message }) =>
    message
  );
  assertEquals([failed, turn.isFree], ["no", true]);
});

Deno.test("Script returns events in order of time, and events of one instant in the order of adding", () => {
  const played: string[] = [];
  const cue = (at: number, name: string) => ({ at, do: () => void played.push(name) });
  const script = new Script([cue(20, "b"), cue(10, "a")]);
  script.add(cue(20, "c"));
  script.add(cue(15, "between"));
  assertEquals(script.next, 10);
  for (let next = script.take(20); next !== undefined; next = script.take(20)) void next.do();
  assertEquals([played, script.next], [["a", "between", "b", "c"], Infinity]);
});
