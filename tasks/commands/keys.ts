/** Descriptions of `hsgate keys new` and `hsgate keys check`. @module */
import { command, type Flags, type Input, offline } from "../terminal/command.ts";

const newFlags = {
  out: { type: "string", value: "DIR", text: "folder for the two files (the current one)" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate keys new`. */
export type KeysNewInput = Input<typeof newFlags>;

/** Creates a key pair. */
export const keysNew = command({
  name: "keys new",
  summary: "create the developer's key pair for the direct transport",
  usage: "",
  args: [0, 0],
  details: `The command writes developer_private.pem (RSA, 1024 bits, PKCS#8, readable only by its
owner) and developer_public.txt, and prints the public key, which the broker's
developer page asks for. It never overwrites a file, because an account's old key would
be lost with its file.`,
  flags: newFlags,
  without: offline,
  exits: [],
  examples: ["keys new --out ~/.config/hsgate"],
});

const checkFlags = {
  public: { type: "boolean", text: "expect a public key, such as the platform's" },
} as const satisfies Flags;
/** Arguments and flags of `hsgate keys check`. */
export type KeysCheckInput = Input<typeof checkFlags>;

/** Checks a key file. */
export const keysCheck = command({
  name: "keys check",
  summary: "check a key file, and explain what is wrong with it",
  usage: "FILE",
  args: [1, 1],
  details: `The command checks the developer's private key, or with --public a public key: whether
it is a key, its kind, form and size, and how an editor may have damaged it. For a private
key it also checks who can read the file, and prints the public key that you have to
register. It never prints any part of a private key.`,
  flags: checkFlags,
  without: offline,
  exits: [[2, "the file cannot be used, or wrong usage"]],
  examples: ["keys check developer_private.pem", "keys check platform.pem --public --json"],
});
