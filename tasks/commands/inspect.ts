/** Description of `hsgate inspect`. @module */
import { command, type Flags, type Input } from "../terminal/command.ts";

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

/** Arguments and flags of the command. */
export type InspectInput = Input<typeof flags>;

/** Decodes captured frames. */
export const inspect = command({
  name: "inspect",
  summary: "decode captured bytes of the push stream or the direct socket",
  usage: "[FILE]",
  args: [0, 1],
  details: `FILE contains one direction of a TCP stream, as raw bytes, hex or Base64; without FILE,
or with "-", the command reads stdin. It prints one JSON line per frame: its position,
the header, "signature" (ok, bad, none, unchecked), envelope and payload in the
broker's spelling. For
bytes that it cannot read, it prints a line with "error" and "reason", and continues at
the next frame. It hides the session token of a request and prints
the payload in full. Without --aes-key it uses the session key of the first answer.`,
  flags,
  without: ["gateway", "push", "plain-http", "auth-url", "config", "transport", "timeout"],
  exits: [[7, "a frame could not be read, or its signature is wrong"]],
  examples: [
    "inspect push.bin --platform-key platform.pem",
    "inspect answers.hex --private-key developer.pem --platform-key platform.pem",
  ],
});
