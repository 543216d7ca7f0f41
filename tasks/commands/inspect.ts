/** Description of `hsgate inspect`. @module */
import { command, type Flags, type Input } from "./command.ts";

const flags = {
  "aes-key": {
    type: "string",
    value: "BASE64",
    text: "session key: decrypts all but the first request and answer",
  },
  "private-key": {
    type: "string",
    value: "FILE",
    text: "the developer's private key: decrypts the first answer, verifies requests",
  },
  "platform-key": {
    type: "string",
    value: "FILE",
    text: "the platform's public key: verifies answers and pushes",
  },
} as const satisfies Flags;

/** What it is given. */
export type InspectInput = Input<typeof flags>;

/** Looks into captured frames. */
export const inspect = command({
  name: "inspect",
  summary: "look into captured bytes of the push stream or the direct socket",
  usage: "[FILE]",
  args: [0, 1],
  details: `FILE holds one direction of a TCP stream, as it is, in hex or in Base64; without
FILE or with "-" it comes from stdin. Prints one JSON line per frame: its place,
the header, "signature" (ok, bad, none, unchecked), envelope and payload in the
broker's spelling. What cannot be read is a line too, with "error" and "reason",
and it goes on at the next frame. The session token of a request is hidden, the
payload is shown whole. Without --aes-key the session key is taken from the
first answer.
Exit code 7 says that something could not be read or has a wrong signature.`,
  flags,
  without: ["gateway", "push", "plain-http", "auth-url", "config", "transport", "timeout", "json"],
  exits: [7],
  examples: [
    "inspect push.bin --platform-key platform.pem",
    "inspect answers.hex --private-key developer.pem --platform-key platform.pem",
  ],
  body: async () => (await import("./bodies/inspect.ts")).run,
});
