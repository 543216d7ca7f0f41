/**
 * Units for systemd: a service and a timer for each recipe, and one service for the scheduler.
 *
 * @module
 */
import type { CompiledRecipe } from "../../steps/compiled.ts";
import { range } from "./cron_fields.ts";
import {
  catchesUp,
  checkDeployValues,
  decidedInside,
  type DeployFile,
  type Deployment,
  type DeployOptions,
  fetchLine,
  fetchNote,
  folderOf,
  missedInWords,
  recipeFirings,
  runWords,
  scheduleWords,
  secretsLeft,
  shellLine,
  trustLeft,
} from "./deployment.ts";
import type { Firing } from "./firings.ts";
import { runsOf, spell, twoDigits } from "./numbers.ts";

/** What units need beside the rest. */
export interface SystemdOptions extends DeployOptions {
  /** For a user's own systemd instead of the machine's. */
  forUser: boolean;
  /** Who runs the services of the machine. */
  runAs: string;
}

/** The runner waits 25 s for what it has begun. */
const STOP_SEC = 30;
/** For the start of the program and the wait for the account. */
const SPARE_SEC = 120;

/** Writes the units. */
export function systemd(recipes: readonly CompiledRecipe[], options: SystemdOptions): Deployment {
  checkDeployValues(recipes, options);
  if (!/^[A-Za-z_][\w.-]{0,31}$/.test(options.runAs)) {
    throw new TypeError(
      `Cannot deploy: --run-as is ${JSON.stringify(options.runAs)}; expected the name of a user`,
    );
  }
  const rows: Deployment["rows"] = [];
  const files: DeployFile[] = recipes.flatMap((recipe) => {
    const times = recipeFirings(recipe, options.now).map(onCalendar);
    rows.push({ recipe: recipe.name, lines: times, inside: decidedInside(recipe) });
    const name = `hsgate-${recipe.name}`;
    return [
      { name: `${name}.service`, text: serviceOf(recipe, options) },
      { name: `${name}.timer`, text: timerOf(recipe, times) },
    ];
  });
  files.push({ name: "hsgate-schedule.service", text: schedulerOf(recipes, options) });
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
      `sudo useradd --system --home-dir ${quiet(options.dir)} ${runAs}   # once; it must own ${
        quiet(folderOf(options.ledger))
      }`,
    ],
    ...forUser ? [`${fetchLine(options, options.denoDir)}${fetchNote}`] : fetchAs(runAs, options),
    ...forUser ? trustLeft(recipes, options) : trustLeft(recipes, options, ["sudo", "-u", runAs, "-H"]),
    `${forUser ? "mkdir -p" : "sudo mkdir -p"} ${folder} && ${
      forUser ? "cp" : "sudo cp"
    } hsgate-*.service hsgate-*.timer ${folder}/`,
    `${ctl} daemon-reload`,
    `${ctl} enable --now ${recipes.map(({ name }) => `hsgate-${name}.timer`).join(" ")}`,
    `or, in place of the timers, the scheduler: ${ctl} enable --now hsgate-schedule.service`,
    ...forUser ? ["loginctl enable-linger   # so that it goes on when you log out"] : [],
    `secrets: ${environmentFile(forUser).replace("%h", "~")}, mode 600, or LoadCredential= as the units show`,
    ...secretsLeft(recipes, "that file"),
  ];
}

const quiet = (path: string) => /\s/.test(path) ? `'${path}'` : path;
const environmentFile = (forUser: boolean) => forUser ? "%h/.config/hsgate/env" : "/etc/hsgate/env";

/** Writes times as `OnCalendar=` takes them: `Mon..Fri *-*-* 16:45:00 Asia/Hong_Kong`. */
export function onCalendar({ zone, days, months, daysOfMonth, hours, minutes, second }: Firing): string {
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
    stepped: (step) => `${twoDigits(all[0]!)}/${step}`, // a field has values
    of: twoDigits,
  });

function timerOf(recipe: CompiledRecipe, times: readonly string[]): string {
  const persistent = catchesUp(recipe);
  return `# When "${recipe.name}" looks for a new slot: at every time that can be right, half-days included, in the zone of
# the exchange. Decided inside: ${decidedInside(recipe)}.
# Missed: ${missedInWords(recipe)}.
[Unit]
Description=When hsgate runs ${recipe.name}

[Timer]
${times.map((time) => `OnCalendar=${time}`).join("\n")}
AccuracySec=1s
# Jitter is the recipe's own, so that it is the same whoever starts it.
RandomizedDelaySec=0
# ${
    persistent
      ? "A machine that was off looks once when it is back, as this recipe only reads."
      : "What was missed is not made up for by a late start."
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
    ? "\n# It trades. Its ledger must stay: it is how a second start knows that the first was there."
    : "";
  return `# Runs the latest slot of "${recipe.name}", once, whoever else may start it.${note}
[Unit]
Description=hsgate: ${recipe.name}
${network(options)}
[Service]
Type=oneshot
ExecStart=${commandLine(runWords(recipe, options))}
# Given back at a stop, for the next start.
SuccessExitStatus=130
TimeoutStartSec=${limitSec}
${common(options)}`;
}

/** A user's own systemd does not see that target. */
const network = ({ forUser }: SystemdOptions): string =>
  forUser ? "" : "Wants=network-online.target\nAfter=network-online.target\n";

const jitterOf = ({ schedules }: CompiledRecipe): number =>
  Math.max(0, ...schedules.map((each) => each.form === "every" ? each.jitterMs : 0));

function schedulerOf(recipes: readonly CompiledRecipe[], options: SystemdOptions): string {
  return `# The scheduler for all of them, in place of the timers: it also writes down what was missed, and makes up for it as
# each recipe says. Both may run beside each other, as a slot has one key.
[Unit]
Description=hsgate: scheduler
${network(options)}
[Service]
Type=exec
ExecStart=${commandLine(scheduleWords(recipes, options))}
Restart=on-failure
RestartSec=10
# A recipe or a setting that is wrong does not come right by itself.
RestartPreventExitStatus=2
${common(options)}
[Install]
WantedBy=${options.forUser ? "default.target" : "multi-user.target"}
`;
}

/** Words as systemd reads them: % and $ mean something in a unit. */
function commandLine(words: readonly string[]): string {
  return words.map((word) => quoted(word.replaceAll("$", () => "$$"))).join(" ");
}

function quoted(text: string): string {
  const escaped = text.replaceAll("%", "%%").replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return /[\s'"\\;]/.test(escaped) ? `"${escaped}"` : escaped;
}

function common(options: SystemdOptions): string {
  const { dir, ledger, denoDir, forUser, runAs, doubt } = options;
  const writable = [...new Set([dir, folderOf(ledger), ...denoDir === undefined ? [] : [denoDir]])];
  const warning = doubt === undefined ? "" : `# WARNING: ${ledger} may not last: ${doubt}.\n`;
  return `${warning}WorkingDirectory=${dir.replaceAll("%", "%%")}
KillSignal=SIGTERM
KillMode=mixed
TimeoutStopSec=${STOP_SEC}
UMask=0077
Environment=NO_COLOR=1 DENO_NO_UPDATE_CHECK=1
${denoDir === undefined ? cache(forUser) : `Environment=${quoted(`DENO_DIR=${denoDir}`)}`}
# Settings and secrets: NAME=value lines, readable for nobody else. Better, where systemd is at least 250, is a file of
# its own for each secret:
#   LoadCredential=trade-password:/etc/hsgate/trade-password
#   Environment=HSGATE_TRADE_PASSWORD_FILE=%d/trade-password
EnvironmentFile=-${environmentFile(forUser)}
NoNewPrivileges=true
LockPersonality=true
RestrictRealtime=true
RestrictSUIDSGID=true
${
    forUser
      ? "# ProtectSystem= and its like need user namespaces in a user's own systemd, which many machines forbid.\n"
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
# MemoryDenyWriteExecute= would stop the JavaScript engine.
`
  }`;
}

/** Deno's cache of a service of the machine; a user has one already. */
const CACHE = "/var/cache/hsgate";
const cache = (forUser: boolean): string =>
  forUser ? "# Deno's cache is yours." : `CacheDirectory=hsgate\nEnvironment=DENO_DIR=${CACHE}`;

/** Fetches the packages into the cache of the units, as the user that they run as. */
function fetchAs(runAs: string, options: Omit<SystemdOptions, "forUser" | "runAs">): string[] {
  const { denoDir = CACHE } = options;
  return [
    `sudo install -d -o ${runAs} ${shellLine([denoDir])}`,
    `sudo -u ${runAs} ${fetchLine(options, denoDir)}${fetchNote}`,
  ];
}
