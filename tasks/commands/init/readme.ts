/**
 * Lists the next steps in a new working folder, and writes its README.
 *
 * @module
 */
import type { Answers, Way } from "./answers.ts";
import { builtInCalendars, calendarZone } from "../../../lib/calendars/mod.ts";
import type { Host } from "../../terminal/host.ts";
import { shellLine } from "../../../lib/shell_words.ts";

const toBroker: Readonly<Record<Way, string>> = {
  simulator: `## From the simulator to the broker

Nothing here reaches a broker: both recipes and \`account.ts\` start their own simulator. To change that:

- run \`hsgate init\` for another folder with \`--connect gateway\` or \`--connect direct\`,
- copy its \`hsgate.yaml\` and \`account.ts\` here, and remove \`connect: simulator\` from your recipes,
- start with a new store: move \`hsgate.db\` away, because its runs are runs with the simulator.

Other commands, such as \`quote\` and \`watch\`, use a simulator that runs in another terminal:
\`hsgate sim --clock 2025-08-15T10:00:00+08:00 --info sim.json\`, then \`hsgate quote AAPL --config sim.json\`. To
trade there, use another store: \`hsgate buy 100 00700.HK --limit 550 --config sim.json --store sim.db\`.
`,
  gateway: `## Secrets

Passwords and keys are in the environment or in files below \`secrets/\`, which git ignores; \`hsgate.yaml\`
contains their paths. \`hsgate doctor\` shows what is missing or wrong.
`,
  direct: `## Secrets

Passwords and keys are in the environment or in files below \`secrets/\`, which git ignores; \`hsgate.yaml\`
contains their paths.

- \`hsgate keys new --out secrets\` creates the key pair and says where to register the public key.
- \`hsgate keys check FILE\` and \`hsgate doctor\` show what is wrong.
`,
};

/** Returns the text of `README.md`. */
export function readmeFor({ way, markets, calendar }: Answers, steps: readonly NextStep[]): string {
  // The last step runs a task of this folder with Deno.
  const deno = steps.at(-1)!.command.replace(/ task .*$/, "");
  const commands = steps.filter(({ command }) => !command.startsWith("cd "));
  const width = Math.max(...commands.map(({ command }) => command.length));
  const lines = commands.map(({ command, text }) => `${command.padEnd(width)}  # ${text}`);
  return `# An hsgate working folder

Created by \`hsgate init\` for ${wayInWords(way)}, ${marketsText(markets)}, session times of ${calendar}.

- \`hsgate.yaml\`: settings; after an edit run \`hsgate trust hsgate.yaml\`
- \`recipes/end_of_day.yaml\`: fills with fees, orders and the fund journal of the last days, into \`out/\`
- \`recipes/morning_snapshot.yaml\`: funds, holdings and quotes before the open, into \`out/\`
- \`account.ts\`: how the script and the notebook connect to the account
- \`fees.ts\`: a script that computes the costs of a week of trades
- \`notebook.ipynb\`: the account in tables; run \`deno jupyter --install\` once, then open it in any Jupyter
- \`recipe.schema.json\`: the schema of recipes for your editor (VS Code with the YAML extension); after an
  update of hsgate \`hsgate schema --out recipe.schema.json\` writes it again
- \`deno.json\`: the path of hsgate, and the tasks
- \`deno.lock\`: the packages that scripts here may load, with their hashes; after an update of hsgate, or for
  packages of your own, \`deno install --frozen=false\` writes it again

Run from this folder. If the shell does not find the command, type \`${deno} task -q hsgate\` instead.

\`\`\`sh
${lines.join("\n")}
\`\`\`

\`hsgate.db\` is the store: it records what has run, so that no slot runs twice. Keep it.

## More to try

To watch the scheduler, add a recipe that runs every minute, as \`recipes/every_minute.yaml\`:

\`\`\`yaml
name: every-minute
${way === "simulator" ? "connect: simulator\n" : ""}schedule: { every: 1m }
steps:
  - { id: funds, uses: account.funds, with: { market: ${markets[0]} } }
\`\`\`

- \`hsgate run morning_snapshot --manual\` runs a recipe outside its schedule.
- \`hsgate test --from 2025-01-01 --to 2025-12-31\` rehearses the schedules of a year with a simulator.
- \`hsgate deploy --to systemd\` writes files with which the operating system starts the recipes.

${toBroker[way]}`;
}

/** Describes a way to the broker. */
export function wayInWords(way: Way): string {
  return way === "simulator"
    ? "a simulated broker"
    : way === "gateway"
    ? "the broker's gateway program"
    : "the broker's own socket";
}

/** Lists markets: `markets hk and us`. */
export function marketsText(markets: readonly string[]): string {
  const last = markets.at(-1);
  const before = markets.slice(0, -1).join(", ");
  return before === "" ? `market ${last}` : `markets ${before} and ${last}`;
}

/** A command line and what it does. */
export interface NextStep {
  command: string;
  text: string;
}

/** Returns the commands to try, in order. */
export function nextSteps(answers: Answers, host: Pick<Host, "env" | "now">): NextStep[] {
  const { way, folder } = answers;
  const deno = denoCommand(host);
  // The installed command sets HSGATE_COMMAND to the words that start it.
  const hsgate = host.env("HSGATE_COMMAND") ?? `${deno} task -q hsgate`;
  const step = (words: string, text: string) => ({ command: `${hsgate} ${words}`, text });
  return [
    ...folder.path === "." ? [] : [{ command: `cd ${shellLine([folder.path])}`, text: "" }],
    ...way === "direct"
      ? [
        step(
          "keys new --out secrets",
          "creates the key pair, and prints what to add to hsgate.yaml",
        ),
        step("trust hsgate.yaml", "shows what the settings can do, and lets commands use them"),
      ]
      : [],
    ...way === "simulator" ? [] : [step("doctor", "shows what is missing or wrong")],
    step("check", "checks the recipes"),
    step("next", "shows when they will run"),
    step("run end_of_day", "exports the last five trading days into out/"),
    step("schedule", "runs every recipe when it is due, until Ctrl-C"),
    step("runs", "lists what has run"),
    step(
      `why end-of-day ${lastDay(answers, host.now())}`,
      "explains what happened on a day, or why nothing ran",
    ),
    { command: `${deno} task -q fees`, text: "runs fees.ts: the costs of a week of trades" },
  ];
}

/** Returns how the user runs Deno; a user who has Deno only through npm needs npx. */
function denoCommand({ env }: Pick<Host, "env">): string {
  const npx = `npx -y deno@${Deno.version.deno}`;
  if (env("npm_command") === "exec") return npx; // npx adds its own Deno to the search path
  const path = env("PATH");
  if (path === undefined || isOn(path, "deno")) return "deno";
  return isOn(path, "npx") ? npx : shellLine([Deno.execPath()]);
}

/** Returns whether the search path has a program. */
function isOn(path: string, name: string): boolean {
  const isWindows = Deno.build.os === "windows";
  const names = isWindows ? [`${name}.exe`, `${name}.cmd`] : [name];
  return path.split(isWindows ? ";" : ":").some((folder) =>
    names.some((each) => {
      try {
        return Deno.statSync(`${folder}/${each}`).isFile;
      } catch {
        return false; // missing, or a folder that the user may not read
      }
    })
  );
}

/** Returns the last day whose session has begun, or today if the calendar does not cover today. */
function lastDay({ calendar }: Answers, now: number): string {
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(calendarZone[calendar])
    .toPlainDate().toString();
  const session = builtInCalendars.sessionOn(calendar, today);
  if (session === "unknown") return today;
  if (session !== "closed" && session.openAt <= now) return today;
  return builtInCalendars.previousSession(calendar, today).date;
}
