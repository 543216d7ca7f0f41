/**
 * Writes the reference page of the command line from the descriptions of the commands.
 *
 * @module
 */
import { helpOf, overview } from "../terminal/help.ts";
import { commands } from "../commands/table.ts";

const notice = "<!-- Written by `deno task docs` from the descriptions in tasks/commands: edit there. -->\n";

const asText = (text: string) => `\`\`\`text\n${text}\n\`\`\``;

/** Returns the page. */
export function commandsPage(): string {
  return [
    notice,
    "# Commands",
    asText(overview(commands)),
    ...commands.flatMap((command) => [`## ${command.name}`, asText(helpOf(command))]),
  ].join("\n\n");
}
