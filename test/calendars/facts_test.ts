/** Checks the calendars against facts about the exchanges that are written out here and not taken from the data. */
import { assertEquals } from "@std/assert";
import { builtInCalendars, type Mic } from "../../lib/calendars/mod.ts";

const pure = { permissions: "none" } as const;

const yearOf = (mic: Mic, year: number) =>
  builtInCalendars.sessionsBetween(mic, `${year}-01-02`, `${year}-12-31`);
const utc = (at: number) => new Date(at).toISOString().slice(11, 16);

Deno.test("each exchange has the known number of sessions in each year", pure, () => {
  const count = (mic: Mic) =>
    [2018, 2019, 2020, 2021, 2022, 2023, 2024, 2025].map((year) => yearOf(mic, year).length);
  assertEquals(count("XNYS"), [251, 252, 253, 252, 251, 250, 252, 250]);
  assertEquals(count("XSHG"), [243, 244, 243, 243, 242, 242, 242, 243]);
  assertEquals(count("XHKG"), [246, 246, 248, 247, 246, 243, 246, 246]);
});

Deno.test("New York closes at 13:00 exactly on these days", pure, () => {
  const early = builtInCalendars.sessionsBetween("XNYS", "2018-01-02", "2027-12-31").filter(({ close }) =>
    close !== "16:00"
  );
  assertEquals(
    early.map(({ date, close }) => `${date} ${close}`),
    [
      ..."2018-07-03 2018-11-23 2018-12-24 2019-07-03 2019-11-29 2019-12-24 2020-11-27 2020-12-24".split(" "),
      ..."2021-11-26 2022-11-25 2023-07-03 2023-11-24 2024-07-03 2024-11-29 2024-12-24".split(" "),
      ..."2025-07-03 2025-11-28 2025-12-24 2026-11-27 2026-12-24 2027-11-26".split(" "),
    ].map((date) => `${date} 13:00`),
  );
  assertEquals(early.every(({ halfDay }) => halfDay), true);
});

Deno.test(
  "New York was closed to mourn two presidents, and has been closed on Juneteenth since 2022",
  pure,
  () => {
    for (const day of ["2018-12-05", "2025-01-09", "2022-06-20", "2023-06-19", "2027-06-18", "2021-12-24"]) {
      assertEquals(builtInCalendars.sessionOn("XNYS", day), "closed", day);
    }
    for (const day of ["2021-06-18", "2021-12-31", "2020-03-18", "2026-07-02", "2027-12-31"]) {
      assertEquals(typeof builtInCalendars.sessionOn("XNYS", day), "object", day);
    }
  },
);

Deno.test("weather changed Hong Kong's hours exactly on these days", pure, () => {
  const odd = builtInCalendars.sessionsBetween("XHKG", "2018-01-02", "2027-12-31").filter((
    { open, close, halfDay },
  ) => !halfDay && (open !== "09:30" || close !== "16:00"));
  assertEquals(odd.map(({ date, open, close }) => `${date} ${open}-${close}`), [
    "2019-07-31 09:30-13:55", // Wipha
    "2020-08-19 13:30-16:00", // Higos
    "2021-06-28 13:30-16:00", // black rain
    "2022-08-25 13:00-16:00", // Ma-on
    "2022-11-02 09:30-13:55", // Nalgae
    "2023-10-09 14:00-16:00", // Koinu
  ]);
});

Deno.test("severe weather closed Hong Kong until a new rule allowed trading in it", pure, () => {
  for (const day of ["2020-10-13", "2021-10-13", "2023-07-17", "2023-09-01", "2023-09-08", "2024-09-06"]) {
    assertEquals(builtInCalendars.sessionOn("XHKG", day), "closed", day);
  }
  // Mangkhut passed on a Sunday; Toraji and Ragasa came after the rule change.
  for (const day of ["2018-09-17", "2024-11-14", "2025-09-23", "2025-09-24"]) {
    assertEquals(typeof builtInCalendars.sessionOn("XHKG", day), "object", day);
  }
});

Deno.test("the mainland was closed longer in 2020, and does not trade on working weekends", pure, () => {
  assertEquals(builtInCalendars.sessionOn("XSHG", "2020-01-31"), "closed");
  assertEquals(typeof builtInCalendars.sessionOn("XSHG", "2020-02-03"), "object");
  for (const day of ["2020-01-19", "2022-01-29", "2024-02-18", "2025-01-26", "2026-02-14"]) {
    assertEquals(builtInCalendars.sessionOn("XSHG", day), "closed", day);
  }
});

Deno.test("New York's sessions have the same local hours before and after each clock change", pure, () => {
  // The clocks change on the second Sunday of March and the first Sunday of November. Each row has the Friday before
  // and the Monday after each change.
  const changes: [string, string, string, string][] = [
    ["2018-03-09", "2018-03-12", "2018-11-02", "2018-11-05"],
    ["2019-03-08", "2019-03-11", "2019-11-01", "2019-11-04"],
    ["2020-03-06", "2020-03-09", "2020-10-30", "2020-11-02"],
    ["2021-03-12", "2021-03-15", "2021-11-05", "2021-11-08"],
    ["2022-03-11", "2022-03-14", "2022-11-04", "2022-11-07"],
    ["2023-03-10", "2023-03-13", "2023-11-03", "2023-11-06"],
    ["2024-03-08", "2024-03-11", "2024-11-01", "2024-11-04"],
    ["2025-03-07", "2025-03-10", "2025-10-31", "2025-11-03"],
    ["2026-03-06", "2026-03-09", "2026-10-30", "2026-11-02"],
    ["2027-03-12", "2027-03-15", "2027-11-05", "2027-11-08"],
  ];
  for (const days of changes) {
    const opens = days.map((day) => {
      const session = builtInCalendars.sessionOn("XNYS", day);
      return typeof session === "string" ? session : `${utc(session.openAt)}-${utc(session.closeAt)}`;
    });
    assertEquals(opens, ["14:30-21:00", "13:30-20:00", "13:30-20:00", "14:30-21:00"], days.join(" "));
  }
});

Deno.test("each month has the known first and last session, for a year of each exchange", pure, () => {
  const ends = (mic: Mic, year: number) => {
    const months = Map.groupBy(yearOf(mic, year), ({ date }) => date.slice(5, 7));
    return [...months.values()].map((days) => `${days[0]?.date.slice(5)} ${days.at(-1)?.date.slice(8)}`).join(
      ", ",
    );
  };
  assertEquals(
    ends("XHKG", 2025),
    "01-02 28, 02-03 28, 03-03 31, 04-01 30, 05-02 30, 06-02 30, 07-02 31, 08-01 29, 09-01 30, 10-02 31, 11-03 28, 12-01 31",
  );
  assertEquals(
    ends("XSHG", 2025),
    "01-02 27, 02-05 28, 03-03 31, 04-01 30, 05-06 30, 06-03 30, 07-01 31, 08-01 29, 09-01 30, 10-09 31, 11-03 28, 12-01 31",
  );
  assertEquals(
    ends("XNYS", 2024),
    "01-02 31, 02-01 29, 03-01 28, 04-01 30, 05-01 31, 06-03 28, 07-01 31, 08-01 30, 09-03 30, 10-01 31, 11-01 29, 12-02 31",
  );
});

Deno.test(
  "each year begins with the known first session",
  pure,
  () => {
    const opens = (mic: Mic) =>
      [2019, 2020, 2021, 2022, 2023, 2024, 2025, 2026].map((year) => yearOf(mic, year)[0]?.date.slice(5))
        .join(
          " ",
        );
    assertEquals(opens("XHKG"), "01-02 01-02 01-04 01-03 01-03 01-02 01-02 01-02");
    assertEquals(opens("XSHG"), "01-02 01-02 01-04 01-04 01-03 01-02 01-02 01-05");
    assertEquals(opens("XNYS"), "01-02 01-02 01-04 01-03 01-03 01-02 01-02 01-02");
  },
);
