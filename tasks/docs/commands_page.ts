/**
 * Writes the reference page of the command line from the descriptions of the commands, and the page of the glossary.
 *
 * @module
 */
import { helpOf, overview } from "../terminal/help.ts";
import { glossary, topics } from "../terminal/topics.ts";
import { table } from "./markdown.ts";
import { commands } from "../commands/table.ts";

const notice = "<!-- Written by `deno task docs` from the descriptions in tasks/commands: edit there. -->\n";

const asText = (text: string) => `\`\`\`text\n${text}\n\`\`\``;

/** Returns the page. */
export function commandsPage(): string {
  return [
    notice,
    "# Commands",
    asText(overview(commands, Object.keys(topics))),
    ...commands.flatMap((command) => [`## ${command.name}`, asText(helpOf(command))]),
  ].join("\n\n");
}

/** Returns the page of the glossary. */
export function glossaryPage(): string {
  return [
    "<!-- Written by `deno task docs` from tasks/terminal/topics.ts: edit there. -->\n",
    "# Glossary",
    "Terms of hsgate and of trading. `hsgate help glossary` prints the same list.",
    table(["Word", "Meaning"], Object.entries(glossary).map(([word, meaning]) => [word, meaning])),
  ].join("\n\n") + "\n";
}
