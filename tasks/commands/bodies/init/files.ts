/**
 * Every file of a working folder.
 *
 * @module
 */
import { recipeJsonSchema } from "../../../../lib/steps/mod.ts";
import type { Answers, Way } from "./answers.ts";
import type { NextStep } from "./next_steps.ts";
import { readmeFor } from "./readme.ts";
import { recipesFor, SCHEMA } from "./recipes.ts";
import { settingsFor } from "./settings_file.ts";
import { configFor, lockFile, toolkit } from "./toolkit.ts";
import type { PlannedFile } from "./work_folder.ts";

/** The narrowest permissions that the script runs with. */
const fees: Readonly<Record<Way, string>> = {
  simulator: "deno run --allow-net=127.0.0.1 fees.ts",
  gateway: "deno run --allow-net --allow-env --allow-read --allow-sys=uid fees.ts",
  direct: "deno run --allow-net --allow-env --allow-read --allow-write --allow-sys=uid fees.ts",
};

const gitignore =
  `# What runs have written, and what they know; the ledger is copied with "hsgate ledger backup"
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
