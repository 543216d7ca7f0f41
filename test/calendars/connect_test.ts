import { assert, assertEquals } from "@std/assert";
import { builtInCalendars, type Mic } from "../../lib/calendars/mod.ts";

const pure = { permissions: "none" } as const;

/** Returns those of the given days on which the market or link trades. */
const open = (mic: Mic, days: string) =>
  days.split(" ").filter((day) => typeof builtInCalendars.sessionOn(mic, day) !== "string").join(" ");

const hours = (mic: Mic, date: string): string => {
  const session = builtInCalendars.sessionOn(mic, date);
  assert(typeof session !== "string", `${mic} ${date} is ${JSON.stringify(session)}`);
  return [session.open, ...session.breaks.flatMap(({ from, to }) => [from, to]), session.close].join(" ");
};

Deno.test("southbound links are closed on the days that the exchanges announced for 2018", pure, () => {
  // By the exchanges' announcement, closed on these weekdays in addition to mainland holidays.
  const announced =
    "2018-02-13 2018-02-14 2018-03-30 2018-04-02 2018-04-03 2018-04-04 2018-04-26 2018-04-27 " +
    "2018-05-22 2018-07-02 2018-09-20 2018-09-21 2018-09-25 2018-09-27 2018-09-28 2018-10-17 2018-12-25 2018-12-26";
  const mainland = builtInCalendars.sessionsBetween("XSHG", "2018-01-02", "2018-12-26").map(({ date }) =>
    date
  );
  const southbound = builtInCalendars.sessionsBetween("CONNECT_HK", "2018-01-02", "2018-12-26").map((
    { date },
  ) => date);
  assertEquals(mainland.filter((day) => !southbound.includes(day)).join(" "), announced);
});

Deno.test(
  "southbound links are closed on the days announced for 2022, including days before holidays",
  pure,
  () => {
    const closed =
      "2022-01-27 2022-01-28 2022-03-31 2022-04-01 2022-04-15 2022-04-18 2022-04-28 2022-04-29 " +
      "2022-05-09 2022-07-01";
    const mainland = builtInCalendars.sessionsBetween("XSHG", "2022-01-04", "2022-09-28").map(({ date }) =>
      date
    );
    const southbound = builtInCalendars.sessionsBetween("CONNECT_HK", "2022-01-04", "2022-09-28").map((
      { date },
    ) => date);
    assertEquals(mainland.filter((day) => !southbound.includes(day)).join(" "), closed);
    assertEquals(
      open("CONNECT_HK", "2021-12-28 2021-12-29 2021-12-30 2021-12-31 2022-01-03 2022-01-04"),
      "2021-12-28 2022-01-04",
    );
  },
);

Deno.test("southbound links trade on days before mainland holidays since 2023-04-24", pure, () => {
  assertEquals(open("CONNECT_HK", "2023-01-18 2023-01-19 2023-01-20 2023-01-26 2023-01-27"), "2023-01-18");
  const added = "2023-04-27 2023-04-28 2023-06-20 2023-06-21 2023-09-27 2023-09-28";
  assertEquals(open("CONNECT_HK", added), added);
  assertEquals(open("CONNECT_HK", "2023-06-22 2023-06-23 2023-10-02 2023-10-06 2023-10-09"), "2023-10-09");
});

Deno.test("southbound links have Hong Kong's hours, half-days and weather closures", pure, () => {
  assertEquals(hours("CONNECT_HK", "2025-08-15"), "09:30 12:00 13:00 16:00");
  assertEquals(hours("CONNECT_HK", "2026-12-24"), "09:30 12:00");
  assertEquals(hours("CONNECT_SH", "2026-12-24"), "09:30 11:30 13:00 15:00");
  assertEquals(hours("CONNECT_HK", "2023-10-09"), "14:00 16:00");
  assertEquals(builtInCalendars.sessionOn("CONNECT_HK", "2023-09-01"), "closed");
});

Deno.test(
  "northbound was closed before a Hong Kong holiday until 2023-04-23, and is open since",
  pure,
  () => {
    // Both markets traded on each of these days. On the next weekday, only the mainland traded.
    const eves =
      "2018-03-29 2018-05-21 2018-10-16 2019-04-18 2020-06-30 2021-04-01 2021-05-18 2022-05-06 2023-04-06";
    assertEquals(open("CONNECT_SH", eves), "");
    assertEquals(open("CONNECT_SZ", eves), "");
    assertEquals(open("XSHG", eves), eves);
    const added = "2023-05-25 2023-10-20 2023-12-22"; // the first three days that the rule change opened
    assertEquals(open("CONNECT_SH", added), added);
  },
);

Deno.test("northbound links do not close before a typhoon or a half-day", pure, () => {
  const days = "2020-10-12 2021-10-12 2018-12-21 2020-12-23 2021-12-30 2021-02-10";
  assertEquals(open("CONNECT_SH", days), days);
});

Deno.test("both directions trade on the same days since 2023-04-24", pure, () => {
  const dates = (mic: Mic) =>
    builtInCalendars.sessionsBetween(mic, "2023-04-24", "2027-12-31").map(({ date }) => date);
  assertEquals(dates("CONNECT_HK"), dates("CONNECT_SH"));
  assertEquals(dates("CONNECT_SZ"), dates("CONNECT_SH"));
});
