/** Descriptions of `hsgate keys new` and `hsgate keys check`. @module */
import { command, type Flags, type Input, offline } from "./command.ts";

const newFlags = {
  out: { type: "string", value: "DIR", text: "folder for the two files (the current one)" },
} as const satisfies Flags;
/** What `keys new` is given. */
export type KeysNewInput = Input<typeof newFlags>;

/** Makes a pair of keys. */
export const keysNew = command({
  name: "keys new",
  summary: "make the developer's pair of keys for the direct transport",
  usage: "",
  args: [0, 0],
  details: `Writes developer_private.pem (RSA, 1024 bits, PKCS#8; its owner alone can read it)
and developer_public.txt, and prints the public key, which is what the broker's
developer page asks for. Files that are there are never overwritten: an account's
old key is lost with its file.`,
  flags: newFlags,
  without: offline,
  exits: [],
  examples: ["keys new --out ~/.config/hsgate"],
  body: async () => (await import("./bodies/keys_new.ts")).run,
});

const checkFlags = {
  public: { type: "boolean", text: "the file should hold a public key, such as the platform's" },
} as const satisfies Flags;
/** What `keys check` is given. */
export type KeysCheckInput = Input<typeof checkFlags>;

/** Tells what is wrong with a key file. */
export const keysCheck = command({
  name: "keys check",
  summary: "tell what is wrong with a key file, in words",
  usage: "FILE",
  args: [1, 1],
  details: `Looks at the developer's private key, or with --public at a public one: whether it
is a key at all, its kind, form and size, who can read the file, and what an
editor may have done to it. For a private key it prints the public half that has
to be registered. Never shows anything of the private one. Exit code 2 says that
the file cannot be used.`,
  flags: checkFlags,
  without: offline,
  exits: [],
  examples: ["keys check developer_private.pem", "keys check platform.pem --public --json"],
  body: async () => (await import("./bodies/keys_check.ts")).run,
});
