/**
 * Writes crontab lines that work with every cron, whatever the time zone of the machine.
 *
 * @module
 */
import type { CompiledRecipe } from "../recipes/compiled.ts";
import { range, sorted } from "./cron_fields.ts";
import {
  catchesUp,
  checkDeployValues,
  checksOfRecipe,
  databaseStep,
  dataFolder,
  type Deployment,
  type DeployOptions,
  fetchLine,
  fetchNote,
  hasDatabase,
  missedInWords,
  recipeFirings,
  runWords,
  secretsStep,
  secretVariables,
  trustStep,
} from "./deployment.ts";
import { type Firing, inWholeMinutes } from "./firings.ts";
import { runsOf, spell, twoDigits } from "./numbers.ts";
import { shellLine } from "../shell_words.ts";

/** Maximum length of a command in Debian's cron, in characters. Cron cuts longer commands. */
const LONGEST = 998;
/** Every time zone differs from UTC by a multiple of 15 minutes. */
const QUARTERS = [0, 15, 30, 45];
/** If a line would need more date patterns than this, it starts the recipe every day instead. */
const MOST_DATES = 12;

const head = `# Recipes of hsgate, started by cron.
#
# Debian's cron does not support CRON_TZ and uses the time zone of the machine; cronie supports it. These lines do
# not need it: cron starts a line at its minutes in every hour, and the "case" uses "date" to check the time at the
# exchange, which needs the package tzdata. This works in every time zone of the machine and across every clock change.
#
# A line starts the recipe at every possible time of a slot. For example, it also starts on holidays, and every day at the
# time for half-days. The command checks the slots: if there is no new one, or another process has run it, it exits with 0.
# Each slot runs only once, so "hsgate schedule" and timers may run at the same time as these lines.
#
# The output goes to a log file. Cron sends only failures by mail.`;

/** Returns a deployment with lines to append to a user's crontab. */
export function crontab(recipes: readonly CompiledRecipe[], options: DeployOptions): Deployment {
  checkDeployValues(recipes, options);
  const log = logFile(options);
  const rows: Deployment["rows"] = [];
  const blocks = recipes.map((recipe) => {
    const lines = linesOf(recipe, { ...options, log });
    const times = recipeFirings(recipe, options).map((firing) => describe(inWholeMinutes(firing)));
    rows.push({ recipe: recipe.name, lines: times, checkedByRecipe: checksOfRecipe(recipe) });
    return [
      `# ${recipe.name}: ${times.join("; ")}`,
      `# The recipe checks: ${checksOfRecipe(recipe)}. Missed slots: ${missedInWords(recipe)}.`,
      ...secretVariables(recipe).length > 0
        ? [
          `# Its secrets, as NAME=value in ${environmentFile(options)}: ${
            secretVariables(recipe).join(", ")
          }`,
        ]
        : [],
      ...recipe.class === "write"
        ? [
          "# It trades. Its store must be durable: if it starts a second time, only the store shows that the slot has already run.",
        ]
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
  const warning = options.storeRisk === undefined
    ? []
    : [`# WARNING: ${options.store} may not last: ${options.storeRisk}.`];
  const text = [[head, ...warning].join("\n"), variables.join("\n"), ...blocks].join("\n\n");
  return {
    files: [{ name: "hsgate.crontab", text: `${text}\n` }],
    rows,
    next: [
      `${fetchLine(options, options.denoDir)}${fetchNote}`,
      ...trustStep(recipes, options),
      "(crontab -l; cat hsgate.crontab) | crontab -   # once; first remove earlier hsgate lines",
      options.config === undefined
        ? `settings: cron does not use your environment; write them into ${options.dir}/hsgate.yaml, then deploy again`
        : `settings: cron does not use your environment; ${options.config} contains the settings, and names the files of secrets`,
      ...databaseStep(options, `${environmentFile(options)} (mode 600)`),
      ...secretsStep(recipes, `${environmentFile(options)} (mode 600)`),
      `rotate ${log} regularly`,
    ],
  };
}

/** Returns the file to which cron appends the output of each start. */
export const logFile = (options: Pick<DeployOptions, "store" | "dir">): string =>
  `${dataFolder(options)}/hsgate.log`;

/** Returns the file with the environment variables of recipes, because cron itself passes no variables to them. */
export const environmentFile = ({ dir }: Pick<DeployOptions, "dir">): string => `${dir}/hsgate.env`;

function linesOf(recipe: CompiledRecipe, options: DeployOptions & { log: string }): string[] {
  const { dir, log, denoFlags } = options;
  const more = secretVariables(recipe).length > 0 || hasDatabase(options)
    ? [`--env-file=${environmentFile(options)}`]
    : [];
  const words = runWords(recipe, { ...options, denoFlags: [...denoFlags, ...more] });
  // The log file is readable only by its owner, like the program's own files. If the log is a link, the line does not
  // run the recipe.
  const run = `umask 077; cd ${shellLine([dir])} && [ ! -h ${shellLine([log])} ] && ` +
    `${shellLine(words)} >>${shellLine([log])} 2>&1 || ` +
    `echo "hsgate: ${recipe.name} ended with $?, see "${shellLine([log])}`;
  const firings = recipeFirings(recipe, options).map(inWholeMinutes);
  const lines = [...Map.groupBy(firings, ({ zone }) => zone)].map(([zone, group]) => {
    const { format, patterns } = gateOf(group);
    const command = `case "$(TZ=${zone} date +${format})" in ${patterns.join("|")}) ${run};; esac`;
    return `${minutesOf(group)} * * * * ${escaped(command, recipe)}`;
  });
  // Cron never catches up missed starts. So a recipe that may run a missed slot also starts after a reboot and checks
  // for one.
  if (catchesUp(recipe)) lines.push(`@reboot ${escaped(`sleep 60; ${run}`, recipe)}`);
  return lines;
}

/**
 * Returns the command with each % escaped, because cron treats an unescaped % as a line break.
 *
 * @throws {TypeError} If the command is too long, or if a backslash comes before `%` or before another backslash. Cron
 * would treat that backslash as an escape character.
 */
function escaped(command: string, { name }: CompiledRecipe): string {
  if (/\\[%\\]/.test(command)) {
    throw new TypeError(
      `Cannot write a crontab line for "${name}": a path has a backslash before "%" or another backslash, which cron ` +
        "does not keep; rename the folder or the file",
    );
  }
  const line = command.replaceAll("%", "\\%");
  if (line.length <= LONGEST && !/[\r\n]/.test(line)) return line;
  throw new TypeError(
    `Cannot write a crontab line for "${name}": it has ${line.length} characters, and cron accepts ${LONGEST}; ` +
      "use shorter paths or fewer times",
  );
}

/**
 * Returns the minutes of an hour at which cron must start the line. They include every firing, whatever the time zone
 * of the machine is.
 */
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

/** Returns the format for `date`, and the patterns of its output at which the recipe starts. */
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

/**
 * Returns patterns of times, such as `1645`. If a firing has more than two minutes in an hour, returns patterns of
 * whole hours, such as `16??`, because an extra start does no harm.
 */
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

/** Returns a set of digits as a shell pattern. */
function classOf(digits: readonly number[], all: number): string {
  if (digits.length === all) return "?";
  if (digits.length === 1) return String(digits[0]);
  const runs = runsOf(digits).map(([first, last]) => first === last ? `${first}` : `${first}-${last}`);
  return `[${runs.join("")}]`;
}

const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** Returns times for people, such as `Mon-Fri 12:45 Asia/Hong_Kong`. */
function describe({ zone, days, daysOfMonth, months, hours, minutes, second }: Firing): string {
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
