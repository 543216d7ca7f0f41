/**
 * Lines for a crontab that are right on every cron, whatever zone it lives in.
 *
 * @module
 */
import type { CompiledRecipe } from "../../steps/compiled.ts";
import { range, sorted } from "./cron_fields.ts";
import {
  catchesUp,
  checkDeployValues,
  decidedInside,
  type Deployment,
  type DeployOptions,
  fetchLine,
  fetchNote,
  folderOf,
  missedInWords,
  recipeFirings,
  runWords,
  secretsLeft,
  secretVariables,
  shellLine,
  trustLeft,
} from "./deployment.ts";
import { type Firing, inWholeMinutes } from "./firings.ts";
import { runsOf, spell, twoDigits } from "./numbers.ts";

/** Debian's cron cuts a command at 998 characters. */
const LONGEST = 998;
/** All zones there are lie whole quarters of an hour from UTC. */
const QUARTERS = [0, 15, 30, 45];
/** More patterns of dates than this and the recipe is asked every day instead. */
const MOST_DATES = 12;

const head = `# Recipes of hsgate, started by cron.
#
# Debian's cron knows no CRON_TZ and reads times in the zone of the machine; cronie knows it. These lines need neither:
# cron looks at the minutes below in every hour, and the "case" asks "date" what time it is where the exchange is
# (package tzdata). That is right in every zone of the machine and through every change of the clocks.
#
# A line fires at every time that can be right: also on holidays, and on full days at the time of half-days. The recipe
# itself knows its slots: when there is no new one, or somebody else has run it, it ends with 0. A slot has one key
# whoever starts it, so that "hsgate schedule", timers and these lines may run beside each other.
#
# The log is on file; only what fails is printed, which cron sends by mail.`;

/** Writes a crontab of a user: `crontab FILE` takes it, and replaces the one that was there. */
export function crontab(recipes: readonly CompiledRecipe[], options: DeployOptions): Deployment {
  checkDeployValues(recipes, options);
  const log = `${folderOf(options.ledger)}/hsgate.log`;
  const rows: Deployment["rows"] = [];
  const blocks = recipes.map((recipe) => {
    const lines = linesOf(recipe, { ...options, log });
    const times = recipeFirings(recipe, options.now).map((firing) => describe(inWholeMinutes(firing)));
    rows.push({ recipe: recipe.name, lines: times, inside: decidedInside(recipe) });
    return [
      `# ${recipe.name}: ${times.join("; ")}`,
      `# Decided inside: ${decidedInside(recipe)}. Missed: ${missedInWords(recipe)}.`,
      ...secretVariables(recipe).length > 0
        ? [
          `# Its secrets, as NAME=value in ${environmentFile(options)}: ${
            secretVariables(recipe).join(", ")
          }`,
        ]
        : [],
      ...recipe.class === "write"
        ? ["# It trades. Its ledger must stay: it is how a second start knows that the first was there."]
        : [],
      ...lines,
    ].join("\n");
  });
  const variables = [
    "SHELL=/bin/sh",
    "NO_COLOR=1",
    "DENO_NO_UPDATE_CHECK=1",
    ...options.denoDir === undefined ? [] : [`DENO_DIR=${options.denoDir}`],
  ];
  const warning = options.doubt === undefined
    ? []
    : [`# WARNING: ${options.ledger} may not last: ${options.doubt}.`];
  const text = [[head, ...warning].join("\n"), variables.join("\n"), ...blocks].join("\n\n");
  return {
    files: [{ name: "hsgate.crontab", text: `${text}\n` }],
    rows,
    next: [
      `${fetchLine(options, options.denoDir)}${fetchNote}`,
      ...trustLeft(recipes, options),
      "(crontab -l; cat hsgate.crontab) | crontab -   # once; take lines of an earlier time out before",
      `settings: cron has no environment of yours; they, and the files of secrets, are named in ${options.dir}/hsgate.yaml`,
      ...secretsLeft(recipes, `${environmentFile(options)} (mode 600)`),
      `rotate ${log} now and then`,
    ],
  };
}

/** Where variables come from that recipes name: cron hands on none. */
const environmentFile = ({ dir }: DeployOptions): string => `${dir}/hsgate.env`;

function linesOf(recipe: CompiledRecipe, options: DeployOptions & { log: string }): string[] {
  const { dir, log, now, denoFlags } = options;
  const more = secretVariables(recipe).length > 0 ? [`--env-file=${environmentFile(options)}`] : [];
  const words = runWords(recipe, { ...options, denoFlags: [...denoFlags, ...more] });
  const run = `cd ${shellLine([dir])} && ${shellLine(words)} >>${shellLine([log])} 2>&1 || ` +
    `echo "hsgate: ${recipe.name} ended with $?, see "${shellLine([log])}`;
  const firings = recipeFirings(recipe, now).map(inWholeMinutes);
  const lines = [...Map.groupBy(firings, ({ zone }) => zone)].map(([zone, group]) => {
    const { format, patterns } = gateOf(group);
    const command = `case "$(TZ=${zone} date +${format})" in ${patterns.join("|")}) ${run};; esac`;
    return `${minutesOf(group)} * * * * ${checked(command, recipe)}`;
  });
  // Cron itself makes up for nothing; after a start of the machine a recipe that only reads has a look.
  if (catchesUp(recipe)) lines.push(`@reboot ${checked(`sleep 60; ${run}`, recipe)}`);
  return lines;
}

/** Cron takes a bare % for the end of the line. */
function checked(command: string, { name }: CompiledRecipe): string {
  const line = command.replaceAll("%", "\\%");
  if (line.length <= LONGEST && !/[\r\n]/.test(line)) return line;
  throw new TypeError(
    `Cannot write a crontab line for "${name}": it has ${line.length} characters, and cron takes ${LONGEST}; ` +
      "shorter paths or fewer times may do",
  );
}

/** Minutes of the hour at which the time may be right, in whatever zone cron lives. */
function minutesOf(firings: readonly Firing[]): string {
  const minutes = firings.flatMap(({ minutes }) =>
    minutes.flatMap((minute) => QUARTERS.map((quarter) => (minute + quarter) % 60))
  );
  return spell(sorted(minutes), {
    all: range(0, 59),
    through: "-",
    stepped: (step) => `*/${step}`,
    of: String,
  });
}

/** What `date` is to print and which of its answers are right. */
function gateOf(firings: readonly Firing[]): { format: string; patterns: string[] } {
  const datesOf = ({ months, daysOfMonth }: Firing) => {
    if (months === undefined && daysOfMonth === undefined) return ["????"];
    const all = (months?.map(twoDigits) ?? ["??"]).flatMap((month) =>
      (daysOfMonth?.map(twoDigits) ?? ["??"]).map((day) => month + day)
    );
    return all.length > MOST_DATES ? ["????"] : all;
  };
  const isDated = firings.some((firing) => datesOf(firing)[0] !== "????");
  const patterns = firings.flatMap((firing) =>
    timePatterns(firing).flatMap((time) =>
      isDated ? datesOf(firing).map((date) => `${date}-${classOf(firing.days, 7)}-${time}`) : [
        `${classOf(firing.days, 7)}-${time}`,
      ]
    )
  );
  return { format: isDated ? "%m%d-%u-%H%M" : "%u-%H%M", patterns: [...new Set(patterns)] };
}

/** `1645`; where there are many minutes, the whole hour: a look too many is harmless. */
function timePatterns({ hours, minutes }: Firing): string[] {
  if (minutes.length <= 2) {
    return minutes.flatMap((minute) => hourPatterns(hours).map((hour) => hour + twoDigits(minute)));
  }
  return hourPatterns(hours).map((hour) => `${hour}??`);
}

function hourPatterns(hours: readonly number[]): string[] {
  if (hours.length === 24) return ["??"];
  return [...Map.groupBy(hours, (hour) => Math.floor(hour / 10))].map(([tens, group]) =>
    `${tens}${classOf(group.map((hour) => hour % 10), 10)}`
  );
}

/** A set of digits as a pattern of the shell. */
function classOf(digits: readonly number[], all: number): string {
  if (digits.length === all) return "?";
  if (digits.length === 1) return String(digits[0]);
  const runs = runsOf(digits).map(([first, last]) => first === last ? `${first}` : `${first}-${last}`);
  return `[${runs.join("")}]`;
}

const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Times for people: `Mon-Fri 12:45 Asia/Hong_Kong`. */
export function describe({ zone, days, daysOfMonth, months, hours, minutes, second }: Firing): string {
  const names = days.length === 7
    ? "daily"
    : runsOf(days).map(([first, last]) =>
      first === last ? dayNames[first - 1] : `${dayNames[first - 1]}-${dayNames[last - 1]}`
    ).join(",");
  const dates = daysOfMonth === undefined && months === undefined
    ? ""
    : ` (days ${daysOfMonth?.join(",") ?? "all"} of months ${months?.join(",") ?? "all"})`;
  const seconds = second === 0 ? "" : `:${twoDigits(second)}`;
  const time = hours.length === 1 && minutes.length === 1
    ? `${twoDigits(hours[0]!)}:${twoDigits(minutes[0]!)}${seconds}`
    : `${spellHours(hours)}h at minute ${spellMinutes(minutes)}`;
  return `${names}${dates} ${time} ${zone}`;
}

const spellHours = (hours: readonly number[]) =>
  runsOf(hours).map(([first, last]) =>
    first === last ? twoDigits(first) : `${twoDigits(first)}-${twoDigits(last)}`
  )
    .join(",");
const spellMinutes = (minutes: readonly number[]) =>
  spell(minutes, { all: range(0, 59), through: "-", stepped: (step) => `*/${step}`, of: twoDigits });
