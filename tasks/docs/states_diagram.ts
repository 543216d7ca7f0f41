/**
 * Writes the diagram of the states of an intent from the table of the order desk.
 *
 * @module
 */
import { allStates, intentStates, isFinal } from "../../lib/desk/states.ts";

/** Marks of the place in `docs/orders.md` that contains the diagram. */
export const DIAGRAM_BEGIN = "<!-- Written by `deno task docs` from lib/desk/states.ts: edit there. -->";
export const DIAGRAM_END = "<!-- End of the diagram. -->";

/** Returns a name that Mermaid accepts. */
const idOf = (state: string) => state.replaceAll("-", "_");

/** Returns the diagram as a Mermaid block. Each arrow names the evidence that allows the change. */
function diagram(): string {
  const named = allStates.filter((state) => idOf(state) !== state)
    .map((state) => `  state "${state}" as ${idOf(state)}`);
  const changes = allStates.flatMap((from) =>
    intentStates[from].map(({ to, by }) => `  ${idOf(from)} --> ${idOf(to)}: ${by.join(", ")}`)
  );
  const ends = allStates.filter(isFinal).map((state) => `  ${idOf(state)} --> [*]`);
  return ["```mermaid", "stateDiagram-v2", ...named, "  [*] --> planned", ...changes, ...ends, "```"].join(
    "\n",
  );
}

/**
 * Returns a page with the diagram between its marks.
 *
 * @throws {TypeError} If the page lacks the marks.
 */
export function withDiagram(page: string): string {
  const [begin, end] = [page.indexOf(DIAGRAM_BEGIN), page.indexOf(DIAGRAM_END)];
  if (begin < 0 || end < begin) {
    throw new TypeError("Cannot write docs/orders.md: it lacks the marks of the diagram");
  }
  return `${page.slice(0, begin)}${DIAGRAM_BEGIN}\n\n${diagram()}\n\n${page.slice(end)}`;
}
