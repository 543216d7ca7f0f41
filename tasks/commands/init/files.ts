/**
 * Composes the texts of the files of a new working folder: settings, recipes, configuration, script, notebook.
 *
 * @module
 */
import { recipeJsonSchema } from "../../../lib/recipes/mod.ts";
import type { Answers, Way } from "./answers.ts";
import { type NextStep, readmeFor } from "./readme.ts";
import { configFor, lockFile, toolkit } from "./toolkit.ts";
import type { PlannedFile } from "./work_folder.ts";
import { isMap, isPair, isScalar, parseDocument, type Range } from "yaml";
import type { Market } from "../../../lib/dictionaries/market.ts";

/** The command line of the script for each way, with the minimum permissions. */
const feesCommands: Readonly<Record<Way, string>> = {
  simulator: "DENO_NO_UPDATE_CHECK=1 deno run --allow-net=127.0.0.1 fees.ts",
  gateway: "DENO_NO_UPDATE_CHECK=1 deno run --allow-net --allow-env --allow-read --allow-sys=uid fees.ts",
  direct:
    "DENO_NO_UPDATE_CHECK=1 deno run --allow-net --allow-env --allow-read --allow-write --allow-sys=uid fees.ts",
};

const gitignore = `# Output of runs, and the store; copy the store with "hsgate store backup"
/out/
/hsgate.db*
/sim.db*
/hsgate.log

# Secrets
/secrets/
.env
*.pem
/sim.json
`;

/** Returns all files; writes nothing. */
export async function filesFor(answers: Answers, steps: readonly NextStep[]): Promise<PlannedFile[]> {
  const { way, folder } = answers;
  const schema = JSON.stringify(await recipeJsonSchema(), null, 2);
  return [
    { path: "hsgate.yaml", text: settingsFor(answers) },
    ...await recipesFor(answers, toolkit),
    {
      path: "account.ts",
      text: withMarkets(
        await template(way === "simulator" ? "account.ts" : "account_configured.ts"),
        answers,
      ),
    },
    { path: "fees.ts", text: await template("fees.ts") },
    { path: "notebook.ipynb", text: await template("notebook.ipynb") },
    { path: SCHEMA, text: `${schema}\n` },
    { path: "deno.json", text: await configFor(folder.url, feesCommands[way]) },
    { path: "deno.lock", text: await lockFile() },
    { path: "README.md", text: readmeFor(answers, steps) },
    { path: ".gitignore", text: gitignore },
  ];
}

/** Returns a template file of the toolkit, without comments for the toolkit's own linter. */
async function template(name: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(`tasks/templates/${name}`, toolkit));
  return text.replace(/^\/\/ deno-lint-ignore-file .*\n/, "");
}

function withMarkets(text: string, { markets }: Answers): string {
  const list = markets.map((market) => `"${market}"`).join(", ");
  return text.replace(/(export const markets = )\[.*?\]/, `$1[${list}]`);
}

const start =
  `# Settings of this folder. Flags and environment variables override them. After an edit of this file, or of a file
# in this folder that it names, run "hsgate trust hsgate.yaml".
`;

const store = `
# The store records every slot and its result, so that no slot runs twice. Keep this file, and
# back it up with "hsgate store backup".
store: hsgate.db
`;

const simulator = `
# The recipes start their own simulator, so they need no address and no password. For a real broker: remove
# "connect: simulator" from the recipes, and write here what "hsgate init --connect gateway" would write.
`;

const tradePassword = `
# The trade password: in the environment as HSGATE_TRADE_PASSWORD, or in a file that only you can read (chmod 600),
# which HSGATE_TRADE_PASSWORD_FILE or this line names:
# tradePasswordFile: secrets/trade_password

# The numbers of your accounts, separated by commas: in the environment as HSGATE_FUND_ACCOUNTS, or in a file. Without
# them, hsgate cannot distinguish an order push of another account from yours.
# fundAccountsFile: secrets/fund_accounts
`;

const gateway = (url: string) => `
# The broker is reached through its gateway program.
transport: gateway
gatewayUrl: ${url}
${tradePassword}# The key of the trade password, which the vendor publishes, works the same way: HSGATE_TRADE_PASSWORD_KEY,
# HSGATE_TRADE_PASSWORD_KEY_FILE, or:
# tradePasswordKeyFile: secrets/trade_password_key
`;

const direct = (url: string | undefined) => `
# The broker is reached over its own socket, without the gateway program. "hsgate keys new --out secrets"
# creates the key pair and explains how to use it; "hsgate doctor" shows what is missing or wrong.
transport: direct
${
  url === undefined
    ? "# authUrl: https://… (the platform's address, from the broker's documentation)"
    : `authUrl: ${url}`
}
# countryCode: HKG or CHN, the country of the login phone
# deviceId: the MAC address of the bound device
# developerPrivateKeyFile: secrets/developer_private.pem
# platformPublicKeyFile: secrets/platform.pem

# Login phone and password: in the environment as HSGATE_MOBILE and HSGATE_LOGIN_PASSWORD, or in files that only you
# can read (chmod 600), which these lines name:
# mobileFile: secrets/mobile
# loginPasswordFile: secrets/login_password
${tradePassword}`;

/** Returns the text of `hsgate.yaml`. */
function settingsFor({ way, gatewayUrl, authUrl }: Answers): string {
  const text = way === "simulator" ? simulator : way === "gateway" ? gateway(gatewayUrl) : direct(authUrl);
  return start + text + store;
}

/** Path of the schema in the working folder. */
const SCHEMA = "recipe.schema.json";

/** A path in a recipe and its new value; `undefined` removes the member. */
type Change = readonly [path: readonly (string | number)[], text: string | undefined];

/** Securities whose quotes the recipe saves until the user names others. */
const quotes: Readonly<Record<Market, readonly string[]>> = {
  hk: ["00700.HK", "00005.HK"],
  us: ["AAPL"],
  shanghai: ["600519.SH"],
  shenzhen: ["000333.SZ"],
};

/** Returns the recipes. `root` is the folder of the toolkit. */
async function recipesFor(answers: Answers, root: URL): Promise<PlannedFile[]> {
  const { calendar, markets, way } = answers;
  const named = `[${markets.join(", ")}]`;
  const changes: Readonly<Record<string, readonly Change[]>> = {
    "end_of_day.yaml": [
      [["schedule", 0, "calendar"], calendar],
      [["schedule", 1, "calendar"], calendar],
      [["steps", 0, "with", "markets"], named],
      // Few accounts have futures. For an account without futures, the broker rejects the request for a futures list.
      [["steps", 0, "with", "accounts"], way === "simulator" ? "[securities, futures]" : "[securities]"],
    ],
    "morning_snapshot.yaml": [
      [["schedule", "calendar"], calendar],
      [["steps", 0, "with", "account"], named],
      [["steps", 0, "with", "holdings"], named],
      [["steps", 0, "with", "quotes"], `[${markets.flatMap((market) => quotes[market]).map(quoted)}]`],
      ...markets.includes("us") ? [] : [[["steps", 0, "with", "optionChain"], undefined] as const],
    ],
  };
  return await Promise.all(
    Object.entries(changes).map(async ([name, its]) => {
      const path = `recipes/${name}`;
      const text = applyChanges(await Deno.readTextFile(new URL(path, root)), its);
      return { path, text: headed(text, answers) };
    }),
  );
}

/** Puts quotation marks around codes that YAML would read as numbers. */
const quoted = (code: string, index: number) =>
  `${index === 0 ? "" : " "}${/^\d/.test(code) ? `"${code}"` : code}`;

/** Adds the line that names the schema, and for the simulator the line that connects to it. */
function headed(text: string, { way }: Answers): string {
  const first = `# yaml-language-server: $schema=../${SCHEMA}\n`;
  if (way !== "simulator") return first + text;
  const line =
    "# A simulated broker in the process of the run. Without this line, the recipe uses the broker of the settings.\n" +
    "connect: simulator\n";
  return first + text.replace(/^(schedule:)/m, `${line}$1`);
}

/** Replaces values in a recipe's text; comments and everything else stay as they are. */
function applyChanges(text: string, changes: readonly Change[]): string {
  const document = parseDocument(text);
  const edits = changes.map(([path, instead]) => {
    const [from, to] = instead === undefined
      ? linesOf(text, path)
      : rangeOf(document.getIn(path, true), path);
    return { from, to, text: instead ?? "" };
  });
  return edits.sort((a, b) => b.from - a.from)
    .reduce((all, { from, to, text }) => all.slice(0, from) + text + all.slice(to), text);

  function linesOf(text: string, path: Change[0]): [number, number] {
    const parent = document.getIn(path.slice(0, -1), true);
    const pair = isMap(parent)
      ? parent.items.find((each) => isPair(each) && isScalar(each.key) && each.key.value === path.at(-1))
      : undefined;
    const [from] = rangeOf(pair?.key, path);
    const [, to] = rangeOf(pair?.value, path);
    return [text.lastIndexOf("\n", from) + 1, text.indexOf("\n", to - 1) + 1];
  }
}

function rangeOf(node: unknown, path: Change[0]): [number, number] {
  const range = typeof node === "object" && node !== null && "range" in node
    // Every node of a parsed document has a range.
    ? node.range as Range
    : undefined;
  if (range === undefined) throw new Error(`the recipe template has no member ${path.join(".")}`);
  return [range[0], range[1]];
}
