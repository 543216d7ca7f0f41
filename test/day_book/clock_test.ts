/** The broker's clock beside this machine's: no day is final by a clock that is wrong. */
import { assertEquals } from "@std/assert";
import { BrokerClock, describeDifference } from "../../lib/client/broker_clock.ts";
import { type DayBookEvent, exportDayBook } from "../../lib/day_book/mod.ts";
import { openHouse } from "../conformance/house.ts";
import { bookOf, DAY, LATER, openBook } from "./books.ts";
import { FRIDAY_MORNING, SATURDAY, simulated, temporaryFolder } from "./simulated.ts";

const WHY = "the clocks of this machine and of the broker differ by more than a minute";
const SECOND = 1000;

Deno.test("exportDayBook() makes no day final while the broker's clock says another time, and says so once", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  for (const [off, shown] of [[61, "1 min 1 s behind"], [-7500, "2 h 5 min ahead of"]] as const) {
    book.broker.date = () => new Date(LATER + off * SECOND).toUTCString();
    const told: DayBookEvent[] = [];
    const result = await book.again({ onProgress: (event) => told.push(event) });
    const [day] = result.days;
    assertEquals([result.ok, result.clockDifferenceMs, day?.status, day?.rows.fills], [
      false,
      -off * SECOND,
      "provisional",
      3,
    ]);
    assertEquals(day?.provisionalBecause, [`us: ${WHY}`]);
    assertEquals(told.filter(({ type }) => type === "clock-differs"), [{
      type: "clock-differs",
      differenceMs: -off * SECOND,
      message:
        `this machine's clock is ${shown} the broker's (Date header): no day that is read now becomes final`,
    }]);
  }
  // The controls: clocks that differ by less, and a broker that tells no time.
  for (const date of [new Date(LATER + 59 * SECOND).toUTCString(), "soon"]) {
    book.broker.date = () => date;
    const { ok, days: [day], clockDifferenceMs } = await book.again({ refresh: true });
    assertEquals([ok, day?.status, clockDifferenceMs], [true, "final", undefined]);
  }
  // A final day stays one.
  book.broker.date = () => new Date(0 + LATER - 86_400 * SECOND).toUTCString();
  const late = await book.again({ refresh: true });
  assertEquals([late.ok, late.days[0]?.status, late.days[0]?.action], [false, "final", "kept-final"]);
});

Deno.test("exportDayBook() by a machine that is days ahead of the simulator makes no empty day final", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  using folder = temporaryFolder();
  const options = { from: DAY, to: DAY, out: folder.path };
  const wrong = await broker.exportDays({ ...options, now: () => LATER });
  assertEquals([wrong.ok, wrong.days[0]?.status], [false, "provisional"]);
  assertEquals(wrong.days[0]!.provisionalBecause.includes(`hk: ${WHY}`), true);
  broker.clock.advance(SATURDAY - FRIDAY_MORNING);
  const right = await broker.exportDays(options);
  assertEquals([right.ok, right.days[0]?.status, right.clockDifferenceMs], [true, "final", undefined]);
});

for (const way of ["gateway", "direct"] as const) {
  Deno.test(`exportDayBook() over ${way} compares the clock by the broker's own answers`, async () => {
    await using house = await openHouse({ at: SATURDAY });
    await using client = await house.connect(way);
    using folder = temporaryFolder();
    const run = (now: number, out: string) =>
      exportDayBook(client, {
        markets: ["hk"],
        accounts: ["securities"],
        from: DAY,
        to: DAY,
        out: `${folder.path}/${out}`,
        now: () => now,
      });
    const wrong = await run(SATURDAY + 3600 * SECOND, "wrong");
    assertEquals([wrong.ok, wrong.days[0]?.status, wrong.clockDifferenceMs], [
      false,
      "provisional",
      3600 * SECOND,
    ]);
    const right = await run(SATURDAY, "right");
    assertEquals([right.ok, right.days[0]?.status], [true, "final"]);
  });
}

Deno.test("BrokerClock keeps the largest difference beyond a minute, and passes over times that are none", () => {
  const clock = new BrokerClock(() => 1_000_000);
  assertEquals([clock.last, clock.wrong], [undefined, undefined]);
  clock.take({ time: 940_000, source: "answer" });
  assertEquals([clock.last?.ms, clock.wrong], [60_000, undefined]);
  clock.take({ time: 1_070_000, source: "answer" });
  clock.take({ time: 1_061_000, source: "answer" });
  assertEquals([clock.last?.ms, clock.wrong?.ms], [-61_000, -70_000]);
  assertEquals(
    describeDifference({ ms: 460 * 86_400_000 }),
    "this machine's clock is 460 days ahead of the broker's",
  );
});
