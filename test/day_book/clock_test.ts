/** Tests that an export compares the clocks of the broker and of this machine before a day becomes final. */
import { assertEquals } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { BrokerClock, describeDifference } from "../../lib/client/broker_clock.ts";
import { type DayBookEvent, exportDayBook } from "../../lib/day_book/mod.ts";
import { connect } from "../../lib/client/connect.ts";
import { reportBrokerTime } from "../../lib/transports/transport.ts";
import { openSimulatedAccount } from "../conformance/simulated_account.ts";
import { bookOf, DAY, LATER, openBook, summaryOf } from "./books.ts";
import { okText } from "./scripted_gateway.ts";
import { FRIDAY_MORNING, SATURDAY, simulated, temporaryFolder } from "./simulated.ts";

const WHY = "the clocks of this machine and of the broker differ by more than a minute";
const SECOND = 1000;

Deno.test("exportDayBook() makes no day final while the broker's clock differs, and reports it once", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  for (const [off, shown] of [[61, "1 min 1 s behind"], [-7500, "2 h 5 min ahead of"]] as const) {
    book.broker.date = () => new Date(LATER + off * SECOND).toUTCString();
    const told: DayBookEvent[] = [];
    const result = await book.exportDay({ onProgress: (event) => told.push(event) });
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
        `this machine's clock is ${shown} the broker's (Date header): no day that this export reads becomes final`,
    }]);
  }
  // The control: clocks that differ by less than a minute.
  book.broker.date = () => new Date(LATER + 59 * SECOND).toUTCString();
  const near = await book.exportDay({ refresh: true });
  assertEquals([near.ok, near.days[0]?.status, near.clockDifferenceMs], [true, "final", undefined]);
  // A final day stays final.
  book.broker.date = () => new Date(0 + LATER - 86_400 * SECOND).toUTCString();
  const late = await book.exportDay({ refresh: true });
  assertEquals([late.ok, late.days[0]?.status, late.days[0]?.action], [false, "final", "kept-final"]);
});

Deno.test("exportDayBook() without the broker's time keeps a day provisional if it ended within a week, and reports it", async () => {
  await using book = openBook(bookOf("us", 3), { markets: ["us"] });
  book.broker.date = () => "soon";
  const told: DayBookEvent[] = [];
  const unknown = await book.exportDay({ onProgress: (event) => told.push(event) });
  assertEquals([unknown.ok, unknown.brokerClock, unknown.days[0]?.status], [true, "unknown", "provisional"]);
  assertEquals(unknown.days[0]?.provisionalBecause, [
    "us: the broker's time is unknown, and by this machine's clock the day ended less than a week ago",
  ]);
  assertEquals(told.filter(({ type }) => type === "clock-unknown").length, 1);
  assertEquals(summaryOf(book.files(DAY)).brokerClock, "unknown");
  // The controls: a day that ended long ago, and a broker that sends its time.
  const late = await book.exportDay({ now: () => LATER + 4 * 86_400 * SECOND });
  assertEquals([late.brokerClock, late.days[0]?.status], ["unknown", "final"]);
  await using timed = openBook(bookOf("us", 3), { markets: ["us"] });
  const { brokerClock, days: [day] } = await timed.exportDay();
  assertEquals([brokerClock, day?.status], [undefined, "final"]);
  assertEquals(summaryOf(timed.files(DAY)).brokerClock, undefined);
});

Deno.test("exportDayBook() ignores invalid times in answers and quotes: it reports no difference, and the broker's time is unknown", async () => {
  const cases: [date: string, quoteTime: string, isValid: boolean][] = [
    ["Thu, 01 Jan 1970 00:00:00 GMT", "00000000000000", false],
    ["Fri, 15 Aug 2008 02:00:00 GMT", "0", false],
    ["Fri, 31 Dec 9999 23:59:59 GMT", "20250230160810", false],
    ["soon", "20250815250810", false],
    // The controls: a valid time of a quote, and one of an answer.
    ["Thu, 01 Jan 1970 00:00:00 GMT", "20250819160810", true],
    [new Date(LATER).toUTCString(), "00000000000000", true],
  ];
  for (const [date, marketTime, isValid] of cases) {
    await using book = openBook(bookOf("hk", 3));
    book.broker.date = () => date;
    book.broker.answer = ({ key }) =>
      key === "BasicQot"
        ? okText(JSON.stringify({
          basicQot: [{ security: { dataType: 10000, code: "00700.HK" }, lastPrice: 592, marketTime }],
        }))
        : undefined;
    const told: DayBookEvent[] = [];
    const result = await book.exportDay({ onProgress: (event) => told.push(event) });
    const { brokerClock, clockDifferenceMs, days: [day] } = result;
    assertEquals([brokerClock, clockDifferenceMs, day?.status], [
      isValid ? undefined : "unknown",
      undefined,
      isValid ? "final" : "provisional",
    ], `${date}, ${marketTime}`);
    const clocks = told.filter(({ type }) => type.startsWith("clock-")).map(({ type }) => type);
    assertEquals(clocks, isValid ? [] : ["clock-unknown"], `${date}, ${marketTime}`);
  }
});

Deno.test("exportDayBook() takes the broker's time from a quote if no answer carries it", async () => {
  await using book = openBook(bookOf("hk", 3));
  book.broker.date = () => "soon";
  const quotedAt = (time: string) => {
    book.broker.answer = ({ key }) =>
      key === "BasicQot"
        ? okText(JSON.stringify({
          basicQot: [{ security: { dataType: 10000, code: "00700.HK" }, lastPrice: 592, marketTime: time }],
        }))
        : undefined;
  };
  const monday = Date.parse("2025-08-18T09:00:00+08:00");
  const at = async (time: string, now = monday) => {
    quotedAt(time);
    const { ok, brokerClock, clockDifferenceMs, days: [day] } = await book.exportDay({
      now: () => now,
      refresh: true,
    });
    return { ok, brokerClock, clockDifferenceMs, status: day?.status, why: day?.provisionalBecause };
  };
  // The newest quote is from the session before DAY, so DAY is not over by the broker's clock: this machine is ahead.
  const ahead = await at("20250814160000");
  assertEquals([ahead.ok, ahead.status, ahead.why], [false, "provisional", [`hk: ${WHY}`]]);
  const behind = await at("20250818090200");
  assertEquals([behind.ok, behind.status, behind.clockDifferenceMs], [false, "provisional", -120 * SECOND]);
  const during = await at("20250815140000");
  assertEquals([during.ok, during.status, during.why], [true, "provisional", [
    "hk: no answer contained the broker's time, and the broker's newest quote does not show that the session is over",
  ]]);
  // The control: the quote is from after the session.
  const after = await at("20250815160810");
  assertEquals([after.ok, after.brokerClock, after.status], [true, undefined, "final"]);
});

Deno.test("exportDayBook() leaves the running day provisional if a relay makes the Date header of the simulator's answers unreadable", async () => {
  await using broker = await simulated({ at: FRIDAY_MORNING });
  await using relay = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const answer = await fetch(broker.simulator.info.gatewayUrl + new URL(request.url).pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: await request.text(),
    });
    return new Response(await answer.text(), { headers: { date: "none" } });
  });
  const { tradePassword, tradePasswordKey } = broker.simulator.info;
  const url = `http://127.0.0.1:${relay.addr.port}`;
  await using client = await connect({ gateway: { url, tradePasswordKey }, tradePassword });
  using folder = temporaryFolder();
  const options = { markets: ["hk"], accounts: ["securities"], from: DAY, to: DAY } as const;
  const wrong = await exportDayBook(client, {
    ...options,
    out: folder.path,
    now: () => LATER + 460 * 86_400_000,
  });
  assertEquals([wrong.ok, wrong.days[0]?.status], [false, "provisional"]);
  assertEquals(wrong.days[0]?.provisionalBecause.includes(`hk: ${WHY}`), true);
});

Deno.test("exportDayBook() makes no empty day final if this machine's clock is days ahead of the simulator's", async () => {
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
  Deno.test(`exportDayBook() over ${way} compares the clock with the broker's answers`, async () => {
    await using testAccount = await openSimulatedAccount({ at: SATURDAY });
    await using client = await testAccount.connect(way);
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

Deno.test("BrokerClock keeps the latest difference, and the largest one beyond a minute", () => {
  const clock = new BrokerClock(() => 1_000_000, builtInCalendars);
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

Deno.test("reportBrokerTime() passes no invalid time to BrokerClock: zero, no number, another unit, or a time outside 2010 to 2099", () => {
  const now = LATER;
  const clock = new BrokerClock(() => now, builtInCalendars);
  const report = (time: number) => reportBrokerTime({ onBrokerTime: clock.take }, time, "answer");
  const invalid = [0, -1, NaN, Infinity, -Infinity, now / 1000, now * 1000, Date.UTC(2010), Date.UTC(2100)];
  for (const time of invalid) {
    report(time);
    assertEquals([clock.isUnknown, clock.last, clock.wrong], [true, undefined, undefined], String(time));
  }
  // The control: the first and the last valid time.
  const valid = [Date.UTC(2010) + 1, Date.UTC(2100) - 1].map((time) => {
    report(time);
    return clock.last?.ms;
  });
  assertEquals(valid, [now - Date.UTC(2010) - 1, now - Date.UTC(2100) + 1]);
  const { last, wrong } = clock;
  for (const time of invalid) report(time);
  assertEquals([clock.isUnknown, clock.last, clock.wrong], [false, last, wrong]);
});
