import { assertEquals, assertThrows } from "@std/assert";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { settlementCycle, settlementDate } from "../../lib/facts/settlement.ts";

const pure = { permissions: "none" } as const;

Deno.test("settlementDate() counts two Hong Kong sessions, without weekends and holidays", pure, () => {
  assertEquals(settlementDate(builtInCalendars, "hk", "2025-08-13"), "2025-08-15");
  assertEquals(settlementDate(builtInCalendars, "hk", "2025-08-15"), "2025-08-19");
  assertEquals(settlementDate(builtInCalendars, "hk", "2025-06-30"), "2025-07-03"); // 1 July is a holiday
});

Deno.test(
  "settlementDate() counts one session instead of two in the United States since 2024-05-28",
  pure,
  () => {
    assertEquals(settlementDate(builtInCalendars, "us", "2024-05-24"), "2024-05-29"); // 27 May is Memorial Day
    assertEquals(settlementDate(builtInCalendars, "us", "2024-05-28"), "2024-05-29");
    assertEquals(settlementDate(builtInCalendars, "us", "2025-07-03"), "2025-07-07");
  },
);

Deno.test("settlementDate() settles northbound money on the next day when both markets trade", pure, () => {
  assertEquals(settlementDate(builtInCalendars, "shanghai", "2025-08-14"), "2025-08-15");
  assertEquals(settlementDate(builtInCalendars, "shenzhen", "2025-09-30"), "2025-10-09"); // National Day week
});

Deno.test("settlementDate() throws on days that no calendar covers", pure, () => {
  assertThrows(
    () => settlementDate(builtInCalendars, "hk", "2044-01-04"),
    RangeError,
    "the calendar does not cover",
  );
  assertThrows(() => settlementDate(builtInCalendars, "hk", "soon"), RangeError, "it is not a date");
});

Deno.test(
  "settlementCycle() is two sessions in Hong Kong, one northbound, and changes in the United States",
  pure,
  () => {
    for (const date of ["2010-01-04", "2024-05-28", "2026-11-20"]) {
      assertEquals(settlementCycle("hk", date), 2);
      assertEquals(settlementCycle("shanghai", date), 1);
      assertEquals(settlementCycle("shenzhen", date), 1);
    }
    const us = ["2010-01-04", "2024-05-27", "2024-05-28", "2026-11-20"].map((date) =>
      settlementCycle("us", date)
    );
    assertEquals(us, [2, 2, 1, 1]);
  },
);

Deno.test("settlementDate() follows the calendar across a year's end, half-days and holidays", pure, () => {
  /** Market, trade date and settlement date, from the exchanges' calendars. */
  const rows: ["hk" | "us" | "shanghai" | "shenzhen", string, string][] = [
    ["hk", "2025-12-23", "2025-12-29"], // the half day of 24 December counts; 25 and 26 are holidays
    ["hk", "2025-12-31", "2026-01-05"], // a half day; 1 January is a holiday
    ["hk", "2025-01-27", "2025-02-03"], // lunar new year: 28 is a half day, 29 to 31 are holidays
    ["hk", "2025-04-16", "2025-04-22"], // Good Friday and Easter Monday
    ["us", "2024-05-23", "2024-05-28"], // two sessions, Memorial Day between
    ["us", "2024-12-24", "2024-12-26"],
    ["us", "2025-01-08", "2025-01-10"], // 9 January was a day of mourning
    ["us", "2025-11-26", "2025-11-28"], // Thanksgiving; the half day counts
    ["shanghai", "2025-08-15", "2025-08-18"],
    ["shenzhen", "2025-08-15", "2025-08-18"],
  ];
  for (const [market, traded, settled] of rows) {
    assertEquals(settlementDate(builtInCalendars, market, traded), settled, `${market} ${traded}`);
  }
});
