/**
 * What a command is: one description, from which parsing, `--help` and the overview derive. Descriptions load
 * at once and must stay light; what a command does is loaded when it runs.
 *
 * @module
 */
import type { Host } from "./host.ts";

/** A flag that takes a text, none, or one each time that it stands there. */
export interface Flag {
  readonly type: "string" | "boolean" | "list";
  /** What stands for the value in `--help`, such as `DAY`. */
  readonly value?: string;
  /** One line for `--help`. */
  readonly text: string;
  /** One letter. */
  readonly short?: string;
}

/** Flags by name, without their dashes. */
export type Flags = Readonly<Record<string, Flag>>;

/** What was given for flags. */
export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]?: F[K]["type"] extends "boolean" ? boolean
    : F[K]["type"] extends "list" ? readonly string[]
    : string;
};

/** What a command gets. */
export interface Input<F extends Flags = Flags> {
  /** Positional arguments. */
  readonly args: readonly string[];
  /** Its own flags and the shared ones. */
  readonly flags: FlagValues<F> & FlagValues<typeof sharedFlags>;
  /** The world outside. */
  readonly host: Host;
}

/** What a command does; resolves to its exit code. */
export type Body<F extends Flags> = (input: Input<F>) => Promise<number>;

/** The description of one command. */
export interface CommandInit<F extends Flags> {
  /** The word or words that call it. */
  name: string;
  /** One line for the overview. */
  summary: string;
  /** What follows the name. */
  usage: string;
  /** Fewest and most positional arguments. */
  args: readonly [number, number];
  /** What there is to know; its lines are broken anew, but for indented ones. */
  details?: string;
  flags: F;
  /** Shared flags that mean nothing here. */
  without?: readonly (keyof typeof sharedFlags)[];
  /**
   * No trading day matters to it, so that it does without the file of those that were set by hand; `"beside"` takes the
   * file from the current folder only, unless a person names another one.
   */
  calendars?: false | "beside";
  /** Whether it prints figures of the broker; a command that prints words only hides every secret. @default true */
  figures?: boolean;
  /** All arguments go to the body as they are. */
  passOn?: true;
  /** Exit codes beyond 0, 1, 2 and 130. */
  exits: readonly number[];
  /** One or more command lines, without `deno task`. */
  examples: readonly string[];
  body: () => Promise<Body<F>>;
}

/** Any command, as the table holds it. */
export interface Command extends Omit<CommandInit<Flags>, "body"> {
  body: () => Promise<(input: RawInput) => Promise<number>>;
}

/** What the parser found. */
export interface RawInput {
  readonly args: readonly string[];
  readonly flags: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly host: Host;
}

/** Flags that every command takes, unless it says otherwise. */
export const sharedFlags = {
  gateway: { type: "string", value: "URL", text: "address of the gateway (http://127.0.0.1:11111)" },
  push: { type: "string", value: "HOST:PORT", text: "address of its pushes (the same host, port 11112)" },
  "plain-http": { type: "boolean", text: "allow a gateway, and notices, on other machines over plain HTTP" },
  "auth-url": { type: "string", value: "URL", text: "address of the platform, for the direct transport" },
  config: { type: "string", value: "FILE", text: "settings file, YAML or JSON (hsgate.yaml)" },
  transport: { type: "string", value: "NAME", text: 'way to the broker: "gateway" or "direct" (gateway)' },
  timeout: { type: "string", value: "SECONDS", text: "how long to wait for an answer (10)" },
  json: { type: "boolean", text: "print the result as JSON, and nothing else, on stdout" },
  help: { type: "boolean", short: "h", text: "show this text" },
} as const satisfies Flags;

/** Shared flags without meaning for a command that connects to nothing, and reads settings. */
export const unconnected = ["gateway", "push", "plain-http", "auth-url", "transport", "timeout"] as const;

/** Shared flags without meaning for a command that reads no settings either. */
export const offline = [...unconnected, "config"] as const;

/** Describes a command. */
export function command<F extends Flags>(init: CommandInit<F>): Command {
  // The parser checks flags against this very description, so that they have the types that it gives them.
  const body = async () => await init.body() as (input: RawInput) => Promise<number>;
  return { ...init, body };
}

/** Every flag that a command takes. */
export function flagsOf(of: Command): Flags {
  const shared = Object.entries(sharedFlags).filter(([name]) => !of.without?.some((each) => each === name));
  return { ...of.flags, ...Object.fromEntries(shared) };
}
