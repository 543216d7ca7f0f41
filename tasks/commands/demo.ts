/** Description of `hsgate demo`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  out: { type: "string", value: "DIR", text: "folder for the files (out/demo)" },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type DemoInput = Input<typeof flags>;

/** Shows what the toolkit does, without a broker. */
export const demo = command({
  name: "demo",
  summary: "export five trading days from a simulated broker, and plan a rebalancing",
  usage: "",
  args: [0, 0],
  details: `The command starts the simulator on free ports, runs the end-of-day recipe against it
over the transport of --transport, and prints what it exported. Then it plans how to bring
a portfolio of the account back to its targets, and sends no order. It reads no settings,
and nothing reaches a broker. Both transports produce the same files.`,
  flags,
  without: ["gateway", "push", "plain-http", "auth-url", "config", "timeout"],
  exits: [[7, "done, and the checks found differences"]],
  examples: ["demo", "demo --transport direct --out demo-files"],
});
