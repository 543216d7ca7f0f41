/** Description of `hsgate probe`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

const flags = {
  only: {
    type: "list",
    value: "FAMILY",
    text: "call only this family of operations, such as quotes; may be given several times",
  },
  yes: { type: "boolean", short: "y", text: "do not ask before each family" },
  pace: { type: "string", value: "SECONDS", text: "time between two calls (0.5)" },
  out: { type: "string", value: "FILE", text: "file for the report (hsgate-probe-TRANSPORT-TIME.json)" },
  replay: {
    type: "string",
    value: "FILE",
    text: "call nothing; check whether hsgate can read answers with the types and forms in this report",
  },
} as const satisfies Flags;
/** Arguments and flags of the command. */
export type ProbeInput = Input<typeof flags>;

/** Compares the broker's answers with the catalogue. */
export const probe = command({
  name: "probe",
  summary: "call every read operation, and compare each answer with the catalogue",
  usage: "",
  args: [0, 0],
  details: `The catalogue is hsgate's description of every operation and its answer. The command
calls each read over the gateway, or over the platform with --transport direct. It
reports missing and additional members of the answers, other types and forms, unknown
codes, pages with wrong rows, and the difference between the clocks. It asks before each
family of operations, such as quotes; without a terminal, it needs --yes.

It sends no write, and its connection refuses writes. If the broker rejects "quotes.bars"
for a security, the command subscribes to this security and makes the call once more. It
logs in for trading only if a
read needs this and the trade password is set; with the setting readOnly "yes" it does
not log in for trading. Over the direct transport, the login ends any other session of the account.

The report contains names of members, types, forms, lengths, and codes of code tables. It
contains no account number, name, quantity, amount, symbol or order number, so you can pass
it on. Only you can read its file (mode 600). After Ctrl-C, the report contains the calls up
to then.

--replay FILE checks a report without the broker. A simulator sends answers with the types
and forms of the report, and the command prints for each call whether this version of hsgate
reads them. "sim --answers FILE" starts such a simulator.`,
  flags,
  calendars: false,
  exits: [
    [4, "no call got an answer"],
    [6, "reads were left out because the trade login is missing, and every answer is as expected"],
    [7, "answers differ from the catalogue or cannot be read; reads may also have been left out"],
  ],
  examples: [
    "probe",
    "probe --only quotes --only account",
    "probe --transport direct --yes --out direct.json",
    "probe --replay direct.json",
  ],
});
