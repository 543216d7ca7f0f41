import { assert, assertEquals, assertThrows } from "@std/assert";
import { BrokerError } from "../../lib/errors.ts";
import {
  builtInCalendars,
  CalendarUnknownError,
  calendarZone,
  type Mic,
  type Session,
} from "../../lib/calendars/mod.ts";

const MICS: Mic[] = ["XHKG", "XNYS", "XSHG", "XSHE", "CONNECT_SH", "CONNECT_SZ", "CONNECT_HK"];
const pure = { permissions: "none" } as const;

/** Returns the session of a day. Fails the test if there is none. */
function open(mic: Mic, date: string): Session {
  const session = builtInCalendars.sessionOn(mic, date);
  assert(typeof session !== "string", `${mic} ${date} is ${JSON.stringify(session)}`);
  return session;
}

const hours = (mic: Mic, date: string): string => {
  const { open: from, close, breaks } = open(mic, date);
  return [from, ...breaks.flatMap((pause) => [pause.from, pause.to]), close].join(" ");
};

Deno.test("sessionOn() returns a regular Hong Kong session with its lunch break and instants", pure, () => {
  assertEquals(builtInCalendars.sessionOn("XHKG", "2025-08-15"), {
    date: "2025-08-15",
    open: "09:30",
    close: "16:00",
    breaks: [{ from: "12:00", to: "13:00" }],
    halfDay: false,
    openAt: Date.UTC(2025, 7, 15, 1, 30),
    closeAt: Date.UTC(2025, 7, 15, 8, 0),
  });
});

Deno.test(
  "sessionOn() returns the regular hours of New York, the mainland and a northbound link",
  pure,
  () => {
    assertEquals(hours("XNYS", "2025-08-15"), "09:30 16:00");
    assertEquals(hours("XSHG", "2025-08-15"), "09:30 11:30 13:00 15:00");
    assertEquals(hours("XSHE", "2025-08-15"), "09:30 11:30 13:00 15:00");
    assertEquals(hours("CONNECT_SH", "2025-08-15"), "09:30 11:30 13:00 15:00");
  },
);

Deno.test("sessionOn() follows New York's clock changes", pure, () => {
  assertEquals(open("XNYS", "2025-03-07").openAt, Date.UTC(2025, 2, 7, 14, 30));
  assertEquals(open("XNYS", "2025-03-10").openAt, Date.UTC(2025, 2, 10, 13, 30));
  assertEquals(open("XNYS", "2025-10-31").closeAt, Date.UTC(2025, 9, 31, 20, 0));
  assertEquals(open("XNYS", "2025-11-03").closeAt, Date.UTC(2025, 10, 3, 21, 0));
});

Deno.test("sessionOn() returns closed for weekends, holidays and one-off closures", pure, () => {
  assertEquals(builtInCalendars.sessionOn("XHKG", "2025-08-16"), "closed");
  assertEquals(builtInCalendars.sessionOn("XSHG", "2024-02-04"), "closed"); // a Sunday that was a working day in the mainland
  assertEquals(builtInCalendars.sessionOn("XNYS", "2025-01-09"), "closed"); // mourning for President Carter
  assertEquals(builtInCalendars.sessionOn("XSHG", "2024-02-09"), "closed"); // Lunar New Year's Eve
});

Deno.test(
  "sessionOn() returns closed for the seven Hong Kong days on which the sources disagree",
  pure,
  () => {
    const days = [
      "2020-10-13",
      "2021-04-06",
      "2021-10-13",
      "2023-09-01",
      "2023-09-08",
      "2024-09-06",
      "2026-04-07",
    ];
    assertEquals(days.filter((day) => builtInCalendars.sessionOn("XHKG", day) !== "closed"), []);
  },
);

Deno.test("sessionOn() ends every Hong Kong half-day since 2018 at noon", pure, () => {
  const halfDays = builtInCalendars.sessionsBetween("XHKG", "2018-01-02", "2027-12-31").filter((
    { halfDay },
  ) => halfDay);
  assertEquals(
    halfDays.map(({ date }) => date).join(" "),
    "2018-02-15 2018-12-24 2018-12-31 2019-02-04 2019-12-24 2019-12-31 2020-01-24 2020-12-24 2020-12-31 " +
      "2021-02-11 2021-12-24 2021-12-31 2022-01-31 2024-02-09 2024-12-24 2024-12-31 2025-01-28 2025-12-24 " +
      "2025-12-31 2026-02-16 2026-12-24 2026-12-31 2027-02-05 2027-12-24 2027-12-31",
  );
  for (const { date } of halfDays) assertEquals(hours("XHKG", date), "09:30 12:00");
});

Deno.test("sessionOn() closes New York at 13:00 on early-close days", pure, () => {
  for (const day of ["2024-07-03", "2024-11-29", "2025-12-24", "2026-11-27"]) {
    assertEquals(hours("XNYS", day), "09:30 13:00");
    assert(open("XNYS", day).halfDay);
  }
  assertEquals(builtInCalendars.sessionOn("XNYS", "2026-07-03"), "closed");
});

Deno.test(
  "sessionOn() returns the shortened hours of a day with bad weather, and does not mark it as a half-day",
  pure,
  () => {
    assertEquals(hours("XHKG", "2020-08-19"), "13:30 16:00");
    assertEquals(hours("XHKG", "2022-11-02"), "09:30 12:00 13:00 13:55");
    assertEquals(hours("XHKG", "2023-10-09"), "14:00 16:00");
    assertEquals(open("XHKG", "2023-10-09").halfDay, false);
  },
);

Deno.test(
  "a northbound link is closed if either market is closed, and trades before a holiday of Hong Kong since 2023-04-24",
  pure,
  () => {
    assertEquals(builtInCalendars.sessionOn("CONNECT_SH", "2025-04-18"), "closed"); // Good Friday in Hong Kong
    assertEquals(builtInCalendars.sessionOn("CONNECT_SZ", "2025-02-03"), "closed"); // mainland still on holiday
    assert(typeof builtInCalendars.sessionOn("XHKG", "2025-02-03") !== "string");
    assertEquals(builtInCalendars.sessionOn("CONNECT_SH", "2023-09-01"), "closed"); // typhoon in Hong Kong
    assertEquals(open("CONNECT_SH", "2023-04-28").date, "2023-04-28"); // the last day before a holiday of Hong Kong
  },
);

Deno.test(
  "northbound trading continues to the mainland close on a Hong Kong half-day, and opens late if Hong Kong opens late",
  pure,
  () => {
    assertEquals(hours("CONNECT_SH", "2024-12-24"), "09:30 11:30 13:00 15:00");
    assertEquals(hours("CONNECT_SH", "2023-10-09"), "14:00 15:00");
    assertEquals(hours("XSHG", "2023-10-09"), "09:30 11:30 13:00 15:00");
  },
);

Deno.test("sessionOn() returns unknown outside the coverage, on weekends too", pure, () => {
  assertEquals(builtInCalendars.coverage("XHKG"), { from: "2018-01-01", through: "2027-12-31" });
  for (const mic of ["XSHG", "XSHE", "CONNECT_SH", "CONNECT_SZ", "CONNECT_HK"] as const) {
    assertEquals(builtInCalendars.coverage(mic), {
      from: "2018-01-01",
      through: "2027-12-31",
      projectedFrom: "2027-01-01",
    });
  }
  for (const mic of MICS) {
    assertEquals(builtInCalendars.sessionOn(mic, "2028-01-01"), "unknown");
    assertEquals(builtInCalendars.sessionOn(mic, "2028-01-03"), "unknown");
    assertEquals(builtInCalendars.sessionOn(mic, "2017-06-01"), "unknown");
  }
});

Deno.test("sessionsBetween(), previousSession() and nextSession() throw outside the coverage", pure, () => {
  const error = assertThrows(
    () => builtInCalendars.sessionsBetween("XHKG", "2027-12-01", "2028-01-01"),
    CalendarUnknownError,
    "Cannot look up whether XHKG trades on 2028-01-01: the calendar covers 2018-01-01 to 2027-12-31",
  );
  assert(error instanceof BrokerError);
  assertEquals(error.code, "calendar-unknown");
  assertThrows(() => builtInCalendars.nextSession("XNYS", "2027-12-31"), CalendarUnknownError);
  assertThrows(() => builtInCalendars.previousSession("XNYS", "2018-01-02"), CalendarUnknownError);
  assertThrows(() => builtInCalendars.previousSession("XNYS", "2028-01-10"), CalendarUnknownError);
});

Deno.test("previousSession() and nextSession() exclude the given day and skip holidays", pure, () => {
  assertEquals(builtInCalendars.previousSession("XHKG", "2025-02-03").date, "2025-01-28");
  assertEquals(builtInCalendars.nextSession("XHKG", "2025-01-28").date, "2025-02-03");
  assertEquals(builtInCalendars.nextSession("XSHG", "2025-09-30").date, "2025-10-09");
  assertEquals(builtInCalendars.nextSession("XNYS", "2025-08-15").date, "2025-08-18");
  assertEquals(builtInCalendars.previousSession("XNYS", "2028-01-01").date, "2027-12-31");
});

Deno.test(
  "sessionsBetween() returns one session for each daily bar that the exchanges published from 2024-08-16 to 2025-08-15",
  pure,
  () => {
    const count = (mic: Mic) => builtInCalendars.sessionsBetween(mic, "2024-08-16", "2025-08-15").length;
    // The published numbers of daily bars.
    assertEquals([count("XHKG"), count("XSHG"), count("XSHE"), count("XNYS")], [245, 242, 242, 250]);
  },
);

Deno.test(
  "sessionsBetween() includes both ends, and returns nothing if the end is before the start",
  pure,
  () => {
    assertEquals(
      builtInCalendars.sessionsBetween("XHKG", "2025-01-28", "2025-02-03").map(({ date }) => date),
      ["2025-01-28", "2025-02-03"],
    );
    assertEquals(builtInCalendars.sessionsBetween("XHKG", "2025-02-04", "2025-02-03"), []);
  },
);

Deno.test(
  "nextSession() and previousSession() return the neighbours of each session of sessionsBetween()",
  pure,
  () => {
    for (const mic of MICS) {
      const days = builtInCalendars.sessionsBetween(mic, "2024-01-02", "2026-12-31");
      for (let i = 1; i < days.length; i++) {
        const [before, after] = [days[i - 1]!, days[i]!]; // `i` is a valid index
        assertEquals(builtInCalendars.nextSession(mic, before.date), after);
        assertEquals(builtInCalendars.previousSession(mic, after.date), before);
        assert(before.closeAt < after.openAt && after.openAt < after.closeAt);
      }
    }
  },
);

Deno.test("calendarZone matches the instants of the sessions", pure, () => {
  for (const mic of MICS) {
    const session = open(mic, "2025-08-15");
    const local = Temporal.Instant.fromEpochMilliseconds(session.openAt).toZonedDateTimeISO(
      calendarZone[mic],
    );
    assertEquals(local.toPlainTime().toString().slice(0, 5), session.open);
  }
});

Deno.test("sessions are shared objects and frozen", pure, () => {
  const session = open("XHKG", "2025-08-15");
  assert(session === builtInCalendars.sessionOn("XHKG", "2025-08-15"));
  assertThrows(() => session.halfDay = true, TypeError);
  assertThrows(() => session.breaks.pop(), TypeError);
});

Deno.test("sessionOn() rejects invalid dates", pure, () => {
  for (const text of ["20250815", "2025-8-15", "2025-08-15T00:00", ""]) {
    assertThrows(() => builtInCalendars.sessionOn("XHKG", text), TypeError, "write it like");
  }
  assertThrows(() => builtInCalendars.sessionOn("XHKG", "2025-02-30"), RangeError);
});
