/**
 * Describes commands. Parsing, `--help`, completion and the overview derive from one description. All descriptions load
 * at the start, so they must stay light. The body of a command loads when it runs.
 *
 * @module
 */
import type { ExitCode } from "./exit_codes.ts";
import type { Host } from "./host.ts";

/** A flag. `string`: with a value. `boolean`: without a value. `list`: with a value, and may be repeated. */
export interface Flag {
  readonly type: "string" | "boolean" | "list";
  /** Placeholder for the value in `--help`, such as `DAY`. */
  readonly value?: string;
  /** One line for `--help`. Completion offers the words in quotation marks as values. */
  readonly text: string;
  /** One letter. */
  readonly short?: string;
}

/** Flags by name, without their dashes. */
export type Flags = Readonly<Record<string, Flag>>;

/** Values of flags, by name. */
export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]?: F[K]["type"] extends "boolean" ? boolean
    : F[K]["type"] extends "list" ? readonly string[]
    : string;
};

/** Everything that a command body receives. */
export interface Input<F extends Flags = Flags> {
  /** Positional arguments. */
  readonly args: readonly string[];
  /** Its own flags and the shared ones. */
  readonly flags: FlagValues<F> & FlagValues<typeof sharedFlags>;
  /** Environment, files and terminal. */
  readonly host: Host;
}

/** The description of one command. */
export interface Description<F extends Flags> {
  /** The word or words that name the command on the command line. */
  name: string;
  /** One line for the overview. */
  summary: string;
  /** Arguments after the name, for `--help` and completion. */
  usage: string;
  /** Minimum and maximum number of positional arguments. */
  args: readonly [number, number];
  /** Explanation for `--help`. It is wrapped to 80 characters, except for indented lines. */
  details?: string;
  flags: F;
  /** Shared flags that this command does not accept. */
  without?: readonly (keyof typeof sharedFlags)[];
  /**
   * `false` if the command needs no trading days, so it does not read the file of calendar overrides. `"itself"` if the
   * body reads that file, because the command continues even if the file is damaged or not trusted.
   */
  calendars?: false | "itself";
  /**
   * Whether the command prints figures of the broker, which can contain the digits of a short secret by chance. If it
   * does, stdout hides only secrets that cannot appear by chance. If it does not, stdout hides every secret.
   *
   * @default true
   */
  figures?: boolean;
  /** The body gets all arguments unparsed. */
  passOn?: true;
  /** Exit codes besides 0, 1, 2 and 130. A code with a special meaning for this command comes with that meaning. */
  exits: readonly (ExitCode | readonly [code: ExitCode, meaning: string])[];
  /** One or more command lines, without `hsgate`. */
  examples: readonly string[];
}

/** Any command, as an entry of the table of commands. */
export interface Command extends Description<Flags> {
  /** Loads the body of the command. */
  body: () => Promise<(input: RawInput) => Promise<number>>;
}

/** Arguments and flags as the parser returns them. */
interface RawInput {
  readonly args: readonly string[];
  readonly flags: Readonly<Record<string, string | boolean | readonly string[]>>;
  readonly host: Host;
}

/** Flags of every command, except those that its `without` lists. */
export const sharedFlags = {
  gateway: { type: "string", value: "URL", text: "address of the gateway (http://127.0.0.1:11111)" },
  push: {
    type: "string",
    value: "HOST:PORT",
    text: "push address of the gateway (the same host, port 11112)",
  },
  "plain-http": {
    type: "boolean",
    text: "allow plain HTTP to a gateway and to notice addresses on other machines",
  },
  "auth-url": { type: "string", value: "URL", text: "address of the platform (direct transport)" },
  config: {
    type: "string",
    value: "FILE",
    text: "settings file, YAML or JSON (hsgate.yaml, once it is trusted)",
  },
  transport: {
    type: "string",
    value: "NAME",
    text: 'connection to the broker: "gateway" or "direct" (gateway)',
  },
  timeout: { type: "string", value: "SECONDS", text: "how long to wait for an answer (10)" },
  json: { type: "boolean", text: "print only the result, as JSON, on stdout" },
  help: { type: "boolean", short: "h", text: "show this text" },
} as const satisfies Flags;

/** Shared flags that a command does not accept if it reads settings but does not connect. */
export const unconnected = ["gateway", "push", "plain-http", "auth-url", "transport", "timeout"] as const;

/** Shared flags that a command does not accept if it neither connects nor reads settings. */
export const offline = [...unconnected, "config"] as const;

/** Returns the description unchanged, with the types of its flags. A description never imports the body. */
export function command<F extends Flags>(description: Description<F>): Description<F> {
  return description;
}

/** Returns a command from a description and a function that loads the body. */
export function withBody<F extends Flags>(
  description: Description<F>,
  load: () => Promise<(input: Input<F>) => Promise<number>>,
): Command {
  // The cast is safe: the parser checks the flags against this description, so they have its types.
  const body = async () => await load() as (input: RawInput) => Promise<number>;
  return { ...description, body };
}

/** Returns all flags of a command, its own and the shared ones. */
export function flagsOf(of: Description<Flags>): Flags {
  const shared = Object.entries(sharedFlags).filter(([name]) => !of.without?.some((each) => each === name));
  return { ...of.flags, ...Object.fromEntries(shared) };
}
