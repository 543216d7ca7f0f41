/**
 * What a person does next in a new working folder, and the page that explains the folder later.
 *
 * @module
 */
import type { Answers, Way } from "./answers.ts";
import { calendarZone, previousSession, sessionOn } from "../../../lib/calendars/mod.ts";
import type { Host } from "../../terminal/host.ts";
import { shellLine } from "../../../lib/shell_words.ts";

const toBroker: Readonly<Record<Way, string>> = {
  simulator: `## From the simulator to the broker

Nothing here reaches a broker, as both recipes and \`account.ts\` have a simulator of their own. To change that:

- run \`hsgate init\` for another folder with \`--connect gateway\` or \`--connect direct\`,
- take its \`hsgate.yaml\` and \`account.ts\`, and take \`connect: simulator\` out of your recipes,
- begin with a new store: move \`hsgate.db\` away, as what it tells is about the simulator.

Other commands, such as \`quote\` and \`watch\`, look at a simulator that runs in another terminal:
\`deno task sim --info sim.json\`, then \`deno task hsgate quote AAPL --config sim.json\`.
`,
  gateway: `## Secrets

Passwords and keys are in the environment or in files below \`secrets/\`, which git leaves out; \`hsgate.yaml\`
tells their names. \`deno task hsgate doctor\` says in words what is missing or wrong.
`,
  direct: `## Secrets

Passwords and keys are in the environment or in files below \`secrets/\`, which git leaves out; \`hsgate.yaml\`
tells their names.

- \`deno task hsgate keys new --out secrets\` makes the pair of keys and says where its public half goes.
- \`deno task hsgate keys check FILE\` and \`deno task hsgate doctor\` say in words what is wrong.
`,
};

/** Writes `README.md`. */
export function readmeFor({ way, markets, calendar }: Answers, steps: readonly NextStep[]): string {
  const commands = steps.filter(({ command }) => !command.startsWith("cd "));
  const width = Math.max(...commands.map(({ command }) => command.length));
  const lines = commands.map(({ command, text }) => `${command.padEnd(width)}  # ${text}`);
  return `# A working folder of hsgate

Made by \`hsgate init\` for ${wayInWords(way)}, ${listed(markets)}, hours of ${calendar}.

- \`hsgate.yaml\`: settings; after an edit run \`deno task hsgate trust hsgate.yaml\`
- \`recipes/end_of_day.yaml\`: fills with fees, orders and the fund journal of the last days, into \`out/\`
- \`recipes/morning_snapshot.yaml\`: funds, holdings and quotes before the open, into \`out/\`
- \`account.ts\`: how the script and the notebook reach the account
- \`fees.ts\`: a script: what a week of trades cost
- \`notebook.ipynb\`: the account in tables; once, \`deno jupyter --install\`, then any Jupyter
- \`recipe.schema.json\`: what may stand in a recipe, for the editor (VS Code with the YAML extension); after an
  update of the toolkit \`deno task hsgate schema --out recipe.schema.json\` writes it anew
- \`deno.json\`: where the toolkit lies, and the tasks
- \`deno.lock\`: the packages that scripts here may load, by their hashes; after an update of the toolkit, or
  for packages of your own, \`deno install --frozen=false\` writes it again

Run from this folder:

\`\`\`sh
${lines.join("\n")}
\`\`\`

\`hsgate.db\` is the store: it knows what has run, so that nothing runs twice. Keep it.

## Then

To watch the scheduler at work, give it a recipe for every minute, as \`recipes/every_minute.yaml\`:

\`\`\`yaml
name: every-minute
${way === "simulator" ? "connect: simulator\n" : ""}schedule: { every: 1m }
steps:
  - { id: funds, uses: account.funds, with: { market: ${markets[0]} } }
\`\`\`

- \`run morning_snapshot --manual\` runs a recipe outside its schedule.
- \`test --from 2025-01-01 --to 2025-12-31\` rehearses the schedules of a year, against a simulator.
- \`deploy --to systemd\` writes the files by which the system itself starts the recipes.

${toBroker[way]}`;
}

/** Names a way. */
export function wayInWords(way: Way): string {
  return way === "simulator"
    ? "a simulated broker"
    : way === "gateway"
    ? "the broker's gateway program"
    : "the broker's own socket";
}

/** Markets in words: `markets hk and us`. */
export function listed(markets: readonly string[]): string {
  const last = markets.at(-1);
  const before = markets.slice(0, -1).join(", ");
  return before === "" ? `market ${last}` : `markets ${before} and ${last}`;
}

/** A command line and what it does. */
export interface NextStep {
  command: string;
  text: string;
}

/** The commands to try, in order. */
export function nextSteps(answers: Answers, host: Pick<Host, "env" | "now">): NextStep[] {
  const { way, folder } = answers;
  const deno = denoCommand(host);
  const step = (words: string, text: string) => ({ command: `${deno} task hsgate ${words}`, text });
  return [
    ...folder.path === "." ? [] : [{ command: `cd ${shellLine([folder.path])}`, text: "" }],
    ...way === "direct"
      ? [
        step(
          "keys new --out secrets",
          "the pair of keys; then fill in hsgate.yaml, which says what is missing",
        ),
        step("trust hsgate.yaml", "shows what the settings can do, and lets commands use them"),
      ]
      : [],
    ...way === "simulator" ? [] : [step("doctor", "says in words what is missing or wrong")],
    step("check", "checks the recipes"),
    step("next", "when they will run"),
    step("run end_of_day", "exports the last five trading days into out/"),
    step("schedule", "runs every recipe when it is due, until Ctrl-C"),
    step("runs", "what has run"),
    step(`why end-of-day ${lastDay(answers, host.now())}`, "what happened on a day, or why nothing did"),
    { command: `${deno} task fees`, text: "the script fees.ts: what a week of trades cost" },
  ];
}

/** Whoever has Deno through npm alone types it that way. */
function denoCommand({ env }: Pick<Host, "env">): string {
  return env("npm_command") === "exec" ? `npx -y deno@${Deno.version.deno}` : "deno";
}

/** The last day with a session that has begun, where the calendar knows. */
function lastDay({ calendar }: Answers, now: number): string {
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(calendarZone[calendar])
    .toPlainDate().toString();
  const session = sessionOn(calendar, today);
  if (session === "unknown") return today;
  if (session !== "closed" && session.openAt <= now) return today;
  return previousSession(calendar, today).date;
}
