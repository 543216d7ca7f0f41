/**
 * Measures the time to load a recipe, and slots per second for each form of schedule.
 *
 * @module
 */
import { Cron } from "croner";
import { parse } from "yaml";
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { slotsBetween } from "../../lib/runner/schedule/slots.ts";
import type { CompiledSchedule } from "../../lib/recipes/compiled.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { inTurns, report, rounded } from "./harness.ts";

/** Monday, an hour before the Hong Kong close. */
const START = Date.parse("2025-03-03T07:00:00Z");
const MINUTE = 60_000;
const DAY = 86_400_000;

/** Measures loading a recipe, compared with only parsing its YAML. */
async function measureLoading(): Promise<void> {
  const texts = Array.from({ length: 200 }, (_, index) =>
    `name: recipe-${index}
schedule: { calendar: XHKG, at: close+${index % 60}m }
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
`);
  const { floor, ours } = await inTurns({
    floor: () => Promise.resolve(texts.forEach((text) => parse(text))),
    async ours() {
      for (const text of texts) await compileRecipe(text, "recipe.yaml", { now: () => START });
    },
  }, { warmup: 2, rounds: 7 });
  report({
    name: "runner/load-recipe",
    unit: "ms per recipe, median; the floor is only the YAML reader",
    floor: rounded(floor / texts.length),
    ours: rounded(ours / texts.length),
    ratio: rounded(ours / floor),
    target: "at most 3",
    ok: ours / floor <= 3,
  });
}

/** Measures the slots of one form of schedule, compared with the simplest way to compute the same instants. */
async function compareSlots(
  name: string,
  schedule: CompiledSchedule,
  { bare, least }: { bare: () => number[]; least: number },
): Promise<void> {
  const until = START + 200 * DAY;
  const found = slotsBetween(builtInCalendars, schedule, START, until).filter(({ skipped }) =>
    skipped === undefined
  );
  const known = bare().filter((at) => at > START && at <= until);
  if (name !== "cron" && JSON.stringify(found.map(({ at }) => at)) !== JSON.stringify(known)) {
    throw new Error(`Cannot compare "${name}": the two functions return different instants`);
  }
  const { floor, ours } = await inTurns({
    floor: () => Promise.resolve(bare()),
    ours: () => Promise.resolve(slotsBetween(builtInCalendars, schedule, START, until)),
  }, { warmup: 3, rounds: 15 });
  const perSecond = (count: number, ms: number) => Math.round(count / ms * 1000);
  const [floorRate, oursRate] = [perSecond(known.length, floor), perSecond(found.length, ours)];
  report({
    name: `runner/slots-${name}`,
    unit: "slots per second",
    floor: floorRate,
    ours: oursRate,
    ratio: rounded(oursRate / floorRate),
    target: `at least ${least}`,
    ok: oursRate / floorRate >= least,
  });
}

async function measureSlots(): Promise<void> {
  const until = START + 200 * DAY;
  const [first, last] = [START, until].map((at) => new Date(at).toISOString().slice(0, 10)) as [
    string,
    string,
  ]; // the list above has two instants
  const cron = "*/20 9-16 * * 1-5";
  const timezone = "Asia/Hong_Kong";
  await compareSlots("cron", { id: "s", form: "cron", cron, timezone, onlyIn: "XHKG" }, {
    bare() {
      const pattern = new Cron(cron, { timezone });
      const times: number[] = [];
      for (let at = pattern.nextRun(new Date(START)); at !== null && at.getTime() <= until;) {
        times.push(at.getTime());
        at = pattern.nextRun(at);
      }
      return times;
    },
    least: 0.5,
  });
  const at = { anchor: "close", offsetMs: 45 * MINUTE } as const;
  await compareSlots(
    "calendar",
    { id: "s", form: "calendar", mic: "XHKG", days: "every-session", at, halfDays: "run" },
    {
      bare: () =>
        builtInCalendars.sessionsBetween("XHKG", first, last).map(({ closeAt }) => closeAt + at.offsetMs),
      least: 0.5,
    },
  );
  const everyMs = 20 * MINUTE;
  await compareSlots("every-while", {
    id: "s",
    form: "every",
    everyMs,
    jitterMs: 0,
    while: {
      mic: "XHKG",
      from: { anchor: "open", offsetMs: -30 * MINUTE },
      to: { anchor: "close", offsetMs: 120 * MINUTE },
    },
  }, {
    bare: () =>
      builtInCalendars.sessionsBetween("XHKG", first, last).flatMap(({ openAt, closeAt }) => {
        const times: number[] = [];
        const begin = Math.ceil((openAt - 30 * MINUTE) / everyMs) * everyMs;
        for (let time = begin; time <= closeAt + 120 * MINUTE; time += everyMs) times.push(time);
        return times;
      }),
    least: 0.1,
  });
}

await measureLoading();
await measureSlots();
