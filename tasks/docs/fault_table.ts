/**
 * Writes the table of faults in `docs/simulator.md` from the list of the simulator.
 *
 * @module
 */
import { faultKinds, socketFaultKinds } from "../../lib/simulator/endpoints/faults.ts";
import { table, withTables } from "./markdown.ts";

/** Mark of the beginning of the table in `docs/simulator.md`. */
const BEGIN = "<!-- Written by `deno task docs` from lib/simulator/endpoints/faults.ts: edit there. -->";

/** Returns the page with its table. */
export const withFaults = (page: string): string =>
  withTables(page, {
    name: "docs/simulator.md",
    tables: [[
      BEGIN,
      table(["`kind`", "Where", "What the simulator does"], [
        ...Object.entries(faultKinds).map(([kind, about]) => [
          `\`${kind}\``,
          kind === "http-error" ? "gateway" : "both",
          about,
        ]),
        ...Object.entries(socketFaultKinds).map(([kind, about]) => [`\`${kind}\``, "direct", about]),
      ]),
    ]],
  });
