/** Description of `hsgate demo`. @module */
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  out: { type: "string", value: "DIR", text: "where the files go (out/demo)" },
} as const satisfies Flags;
/** What it is given. */
export type DemoInput = Input<typeof flags>;

/** Shows the toolkit at work without a broker. */
export const demo = command({
  name: "demo",
  summary: "export five trading days from a simulated broker, to see it work",
  usage: "",
  args: [0, 0],
  details: `Starts the simulator on free ports, runs the end-of-day recipe against it over the
transport that is named, and prints what was exported. Reads no settings, and
nothing reaches a broker. The files are the same over either transport.`,
  flags,
  without: ["gateway", "push", "plain-http", "auth-url", "config", "timeout"],
  exits: [7],
  examples: ["demo", "demo --transport direct --out demo-files"],
  body: async () => (await import("./bodies/demo.ts")).run,
});
