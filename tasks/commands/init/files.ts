/**
 * Every file of a new working folder: settings, recipes, configuration, notebook.
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

/** The narrowest permissions that the script runs with. */
const fees: Readonly<Record<Way, string>> = {
  simulator: "DENO_NO_UPDATE_CHECK=1 deno run --allow-net=127.0.0.1 fees.ts",
  gateway: "DENO_NO_UPDATE_CHECK=1 deno run --allow-net --allow-env --allow-read --allow-sys=uid fees.ts",
  direct:
    "DENO_NO_UPDATE_CHECK=1 deno run --allow-net --allow-env --allow-read --allow-write --allow-sys=uid fees.ts",
};

const gitignore =
  `# What runs have written, and what they know; the store is copied with "hsgate store backup"
/out/
/hsgate.db*
/hsgate.log

# Secrets
/secrets/
.env
*.pem
/sim.json
`;

/** Makes all files; nothing is written yet. */
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
    { path: "deno.json", text: await configFor(folder.url, fees[way]) },
    { path: "deno.lock", text: await lockFile() },
    { path: "README.md", text: readmeFor(answers, steps) },
    { path: ".gitignore", text: gitignore },
  ];
}

/** A file of the toolkit that is copied; what it tells the toolkit's own linter stays there. */
async function template(name: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(`tasks/templates/${name}`, toolkit));
  return text.replace(/^\/\/ deno-lint-ignore-file .*\n/, "");
}

function withMarkets(text: string, { markets }: Answers): string {
  const list = markets.map((market) => `"${market}"`).join(", ");
  return text.replace(/(export const markets = )\[.*?\]/, `$1[${list}]`);
}

const start =
  `# Settings of this folder. Flags and environment variables come before them. After an edit of this file, or of a file
# in this folder that it names, run "deno task hsgate trust hsgate.yaml".
`;

const store = `
# What was due and what became of it. Runs are written down here, so that none is done twice: keep this file, and
# copy it with "deno task hsgate store backup".
store: hsgate.db
`;

const simulator = `
# The recipes connect to a simulator of their own, so no address and no password is needed. For a broker: take
# "connect: simulator" out of the recipes, and write here what "hsgate init --connect gateway" would.
`;

const tradePassword = `
# The trade password: in the environment as HSGATE_TRADE_PASSWORD, or in a file that only you can read (chmod 600),
# which HSGATE_TRADE_PASSWORD_FILE or this line names:
# tradePasswordFile: secrets/trade_password
`;

const gateway = (url: string) => `
# Way to the broker: its gateway program.
transport: gateway
gatewayUrl: ${url}
${tradePassword}# Its key, which the vendor publishes, in the same ways: HSGATE_TRADE_PASSWORD_KEY, or ..._FILE, or:
# tradePasswordKeyFile: secrets/trade_password_key
`;

const direct = (url: string | undefined) => `
# Way to the broker: its own socket, without the gateway program. "deno task hsgate keys new --out secrets" makes the
# pair of keys and says what to do with it; "deno task hsgate doctor" tells what is missing or wrong.
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

/** Writes `hsgate.yaml`. */
function settingsFor({ way, gatewayUrl, authUrl }: Answers): string {
  const text = way === "simulator" ? simulator : way === "gateway" ? gateway(gatewayUrl) : direct(authUrl);
  return start + text + store;
}

/** The schema, as a recipe's editor finds it. */
const SCHEMA = "recipe.schema.json";

/** A place in a recipe, and what stands there instead; nothing takes the member away. */
type Change = readonly [path: readonly (string | number)[], text: string | undefined];

/** Securities whose quotes are written, as long as nobody names others. */
const quotes: Readonly<Record<Market, readonly string[]>> = {
  hk: ["00700.HK", "00005.HK"],
  us: ["AAPL"],
  shanghai: ["600519.SH"],
  shenzhen: ["000333.SZ"],
};

/** Makes the recipes. `root` is the folder of the toolkit. */
async function recipesFor(answers: Answers, root: URL): Promise<PlannedFile[]> {
  const { calendar, markets, way } = answers;
  const named = `[${markets.join(", ")}]`;
  const changes: Readonly<Record<string, readonly Change[]>> = {
    "end_of_day.yaml": [
      [["schedule", 0, "calendar"], calendar],
      [["schedule", 1, "calendar"], calendar],
      [["steps", 0, "with", "markets"], named],
      // Few accounts have futures, and the broker refuses their lists to all others.
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
      const text = changed(await Deno.readTextFile(new URL(path, root)), its);
      return { path, text: headed(text, answers) };
    }),
  );
}

/** Codes of digits would be numbers without quotes. */
const quoted = (code: string, index: number) =>
  `${index === 0 ? "" : " "}${/^\d/.test(code) ? `"${code}"` : code}`;

/** The text with the schema's line before it, and the way to the broker where it is not that of the settings. */
function headed(text: string, { way }: Answers): string {
  const first = `# yaml-language-server: $schema=../${SCHEMA}\n`;
  if (way !== "simulator") return first + text;
  const line =
    "# A simulated broker inside the process that runs it. Without this line the settings say where the broker is.\n" +
    "connect: simulator\n";
  return first + text.replace(/^(schedule:)/m, `${line}$1`);
}

/** Puts texts in place of values, so that comments and everything else stay as they are. */
function changed(text: string, changes: readonly Change[]): string {
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
    // Every node of a parsed document has its range.
    ? node.range as Range
    : undefined;
  if (range === undefined) throw new Error(`a ready recipe lacks ${path.join(".")}`);
  return [range[0], range[1]];
}
