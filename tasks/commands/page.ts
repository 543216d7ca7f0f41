/**
 * The reference page of the command line: what each command says of itself.
 *
 * @module
 */
import { helpOf, overview } from "./help.ts";
import { commands } from "./table.ts";

const notice = "<!-- Written by `deno task docs` from the descriptions in tasks/commands: edit there. -->\n";

const asText = (text: string) => `\`\`\`text\n${text}\n\`\`\``;

/** Writes the page. */
export function commandsPage(): string {
  return [
    notice,
    "# Commands",
    asText(overview(commands)),
    ...commands.flatMap((command) => [`## ${command.name}`, asText(helpOf(command))]),
  ].join("\n\n");
}
