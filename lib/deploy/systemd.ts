/**
 * Writes systemd units: a service and a timer for each recipe, and a service for the scheduler.
 *
 * @module
 */
import type { CompiledRecipe } from "../recipes/compiled.ts";
import { range } from "./cron_fields.ts";
import {
  catchesUp,
  checkDeployValues,
  checksOfRecipe,
  databaseStep,
  dataFolder,
  type DeployFile,
  type Deployment,
  type DeployOptions,
  fetchLine,
  fetchNote,
  missedInWords,
  recipeFirings,
  runWords,
  scheduleWords,
  secretsStep,
  trustStep,
} from "./deployment.ts";
import type { Firing } from "./firings.ts";
import { runsOf, spell, twoDigits } from "./numbers.ts";
import { shellLine } from "../shell_words.ts";

/** Further options for units. */
export interface SystemdOptions extends DeployOptions {
  /** Whether to write user units instead of system units. */
  forUser: boolean;
  /** User that runs the system services. */
  runAs: string;
}

/**
 * Seconds after which systemd kills a service that does not stop: longer than the 25 s for which the runner waits for a
 * write.
 */
const STOP_SEC = 30;
/** Name of the scheduler's unit. */
const SCHEDULER = "hsgate-schedule";
/** Time added to a run's own time limit, for starting the program and waiting for the account. */
const SPARE_SEC = 120;

/** Returns the units. */
export function systemd(recipes: readonly CompiledRecipe[], options: SystemdOptions): Deployment {
  checkDeployValues(recipes, options);
  if (!/^[A-Za-z_][\w.-]{0,31}$/.test(options.runAs)) {
    throw new TypeError(
      `Cannot deploy: --run-as is ${JSON.stringify(options.runAs)}; expected the name of a user`,
    );
  }
  // systemd treats such a first character as an instruction. "+", for example, runs the program with the rights of
  // root.
  if (/^[-@:+!|]/.test(options.deno)) {
    throw new TypeError(
      `Cannot deploy: --deno is ${JSON.stringify(options.deno)}; expected the path of the Deno program`,
    );
  }
  if (recipes.some(({ name }) => `hsgate-${name}` === SCHEDULER)) {
    throw new TypeError(
      `Cannot deploy the recipe "schedule": the scheduler has the unit "${SCHEDULER}"; rename the recipe`,
    );
  }
  const rows: Deployment["rows"] = [];
  const files: DeployFile[] = recipes.flatMap((recipe) => {
    const times = recipeFirings(recipe, options).map(onCalendar);
    rows.push({ recipe: recipe.name, lines: times, checkedByRecipe: checksOfRecipe(recipe) });
    const name = `hsgate-${recipe.name}`;
    return [
      { name: `${name}.service`, text: serviceOf(recipe, options) },
      { name: `${name}.timer`, text: timerOf(recipe, times) },
    ];
  });
  files.push({ name: `${SCHEDULER}.service`, text: schedulerOf(recipes, options) });
  return { files, rows, next: nextOf(recipes, options) };
}

function nextOf(
  recipes: readonly CompiledRecipe[],
  { forUser, runAs, ...options }: SystemdOptions,
): string[] {
  const ctl = forUser ? "systemctl --user" : "sudo systemctl";
  const folder = forUser ? "~/.config/systemd/user" : "/etc/systemd/system";
  return [
    ...forUser ? [] : [
      `sudo useradd --system --home-dir ${shellLine([options.dir])} ${runAs}   # once; it must own ${
        shellLine([dataFolder(options)])
      }`,
    ],
    ...forUser ? [] : accessLeft(runAs, options),
    ...forUser ? [`${fetchLine(options, options.denoDir)}${fetchNote}`] : fetchAs(runAs, options),
    ...forUser ? trustStep(recipes, options) : trustStep(recipes, options, ["sudo", "-u", runAs, "-H"]),
    `${forUser ? "mkdir -p" : "sudo mkdir -p"} ${folder} && ${
      forUser ? "cp" : "sudo cp"
    } hsgate-*.service hsgate-*.timer ${folder}/`,
    `${ctl} daemon-reload`,
    `${ctl} enable --now ${recipes.map(({ name }) => `hsgate-${name}.timer`).join(" ")}`,
    `or use the scheduler instead of the timers: ${ctl} enable --now hsgate-schedule.service`,
    ...forUser ? ["loginctl enable-linger   # keeps the services running after you log out"] : [],
    `secrets: ${environmentFile(forUser).replace("%h", "~")}, mode 600, or LoadCredential= as the units show`,
    ...databaseStep(options, "that file"),
    ...secretsStep(recipes, "that file"),
  ];
}

/** Paths that usually only their owner may enter. */
const inHome = /^\/(root|home)\//;

/**
 * Returns what to check if the services use files in a home folder, because they may run as a user who cannot read
 * them.
 */
function accessLeft(runAs: string, { program, deno, dir }: DeployOptions): string[] {
  const paths = [program, deno, dir].filter((path) => inHome.test(path));
  if (paths.length === 0) return [];
  const tests = paths.map((path) => shellLine(["test", "-r", path])).join(" && ");
  return [
    `sudo -u ${runAs} sh -c ${
      shellLine([tests])
    }   # if it fails, ${runAs} cannot enter that home folder: write the units again with --user, or with --run-as and the name of the folder's owner`,
  ];
}

const environmentFile = (forUser: boolean) => forUser ? "%h/.config/hsgate/env" : "/etc/hsgate/env";

/** Returns times for `OnCalendar=`, such as `Mon..Fri *-*-* 16:45:00 Asia/Hong_Kong`. */
function onCalendar({ zone, days, months, daysOfMonth, hours, minutes, second }: Firing): string {
  const weekdays = days.length === 7 ? [] : [
    runsOf(days).map(([first, last]) =>
      first === last ? dayNames[first - 1] : `${dayNames[first - 1]}..${dayNames[last - 1]}`
    ).join(","),
  ];
  const date = `*-${list(months, range(1, 12))}-${list(daysOfMonth, range(1, 31))}`;
  const time = `${list(hours, range(0, 23))}:${list(minutes, range(0, 59))}:${twoDigits(second)}`;
  return [...weekdays, date, time, zone].join(" ");
}

const dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const list = (values: readonly number[] | undefined, all: readonly number[]) =>
  values === undefined ? "*" : spell(values, {
    all,
    through: "..",
    stepped: (step) => `${twoDigits(all[0]!)}/${step}`, // a field is never empty
    of: twoDigits,
  });

function timerOf(recipe: CompiledRecipe, times: readonly string[]): string {
  const persistent = catchesUp(recipe);
  return `# Starts "${recipe.name}" at every time at which a slot is possible. Each time names its time zone.
# The recipe checks: ${checksOfRecipe(recipe)}.
# Missed slots: ${missedInWords(recipe)}.
[Unit]
Description=Timer of hsgate recipe ${recipe.name}

[Timer]
${times.map((time) => `OnCalendar=${time}`).join("\n")}
AccuracySec=1s
# The recipe adds its own jitter, which is the same for every way to start it.
RandomizedDelaySec=0
# ${
    persistent
      ? "After a downtime the timer starts this recipe once, because it only reads."
      : "After a downtime the timer does not start this recipe for the times that it missed."
  }
Persistent=${persistent}

[Install]
WantedBy=timers.target
`;
}

function serviceOf(recipe: CompiledRecipe, options: SystemdOptions): string {
  const limitSec = Math.ceil((recipe.timeoutMs + recipe.misfire.graceMs + jitterOf(recipe)) / 1000) +
    SPARE_SEC;
  const note = recipe.class === "write"
    ? "\n# It trades. Its store must be durable: if it starts a second time,\n" +
      "# only the store shows that the slot has already run."
    : "";
  return `# Runs the latest slot of "${recipe.name}" once, even if another system starts it too.${note}
[Unit]
Description=hsgate: ${recipe.name}
${network(options)}
[Service]
Type=oneshot
ExecStart=${commandLine(runWords(recipe, options))}
# A stopped run becomes due again; the next start continues it.
SuccessExitStatus=130
TimeoutStartSec=${limitSec}
${commonLines(options)}`;
}

/** Returns the dependency on the network; empty for user units, which cannot use that target. */
const network = ({ forUser }: SystemdOptions): string =>
  forUser ? "" : "Wants=network-online.target\nAfter=network-online.target\n";

const jitterOf = ({ schedules }: CompiledRecipe): number =>
  Math.max(0, ...schedules.map((each) => each.form === "every" ? each.jitterMs : 0));

function schedulerOf(recipes: readonly CompiledRecipe[], options: SystemdOptions): string {
  return `# The scheduler runs all recipes instead of the timers. It also records missed slots and applies the misfire policy of
# each recipe. Timers may run at the same time as the scheduler, because each slot runs only once.
[Unit]
Description=hsgate: scheduler
${network(options)}
[Service]
Type=exec
ExecStart=${commandLine(scheduleWords(recipes, options))}
Restart=on-failure
RestartSec=10
# A restart does not repair a wrong recipe or setting.
RestartPreventExitStatus=2
${commonLines(options)}
[Install]
WantedBy=${options.forUser ? "default.target" : "multi-user.target"}
`;
}

/** Returns words as a command line of a unit, with % and $ escaped. */
function commandLine(words: readonly string[]): string {
  return words.map((word) => quoted(word.replaceAll("$", () => "$$"))).join(" ");
}

function quoted(text: string): string {
  const escaped = text.replaceAll("%", "%%").replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return /[\s'"\\;]/.test(escaped) ? `"${escaped}"` : escaped;
}

function commonLines(options: SystemdOptions): string {
  const { dir, store, denoDir, forUser, runAs, storeRisk } = options;
  const writable = [...new Set([dir, dataFolder(options), ...denoDir === undefined ? [] : [denoDir]])];
  const warning = storeRisk === undefined ? "" : `# WARNING: ${store} may not last: ${storeRisk}.\n`;
  return `${warning}WorkingDirectory=${dir.replaceAll("%", "%%")}
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec=${STOP_SEC}
UMask=0077
Environment=NO_COLOR=1 DENO_NO_UPDATE_CHECK=1
${denoDir === undefined ? cache(forUser) : `Environment=${quoted(`DENO_DIR=${denoDir}`)}`}
# Settings and secrets: lines NAME=value, readable only by the owner. From systemd 250 on, a separate file for each
# secret is better:
#   LoadCredential=trade-password:/etc/hsgate/trade-password
#   Environment=HSGATE_TRADE_PASSWORD_FILE=%d/trade-password
EnvironmentFile=-${environmentFile(forUser)}
NoNewPrivileges=true
LockPersonality=true
RestrictRealtime=true
RestrictSUIDSGID=true
${
    forUser
      ? "# In user units, ProtectSystem= and similar settings need user namespaces, which many machines forbid.\n"
      : `User=${runAs}
ProtectSystem=strict
ReadWritePaths=${writable.map(quoted).join(" ")}
ProtectHome=read-only
PrivateTmp=true
PrivateDevices=true
ProtectKernelTunables=true
ProtectKernelModules=true
ProtectKernelLogs=true
ProtectControlGroups=true
ProtectClock=true
ProtectHostname=true
RestrictNamespaces=true
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
SystemCallArchitectures=native
CapabilityBoundingSet=
# MemoryDenyWriteExecute= would break the JavaScript engine.
`
  }`;
}

/** Folder of Deno's cache for system services; user units use the user's cache. */
const CACHE = "/var/cache/hsgate";
const cache = (forUser: boolean): string =>
  forUser ? "# Deno uses your own cache." : `CacheDirectory=hsgate\nEnvironment=DENO_DIR=${CACHE}`;

/** Returns commands that download the packages into the cache of the units, as their user. */
function fetchAs(runAs: string, options: Omit<SystemdOptions, "forUser" | "runAs">): string[] {
  const { denoDir = CACHE } = options;
  return [
    `sudo install -d -o ${runAs} ${shellLine([denoDir])}`,
    `sudo -u ${runAs} ${fetchLine(options, denoDir)}${fetchNote}`,
  ];
}
