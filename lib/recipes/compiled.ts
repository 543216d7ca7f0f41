/**
 * Defines the types of a compiled recipe, which the runner runs: all names are resolved and all defaults are filled in.
 * Written recipes have separate types. The recipe compiler converts them, and reports every mistake before the first
 * step runs.
 *
 * @module
 */
import type { Calendars, Mic, SessionTime } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import type { LimitTexts } from "../client/limits.ts";
import type { Desk } from "../desk/desk.ts";
import type { Why } from "../desk/intent.ts";
import type { Store } from "../store/store.ts";
import type { Machine } from "../time.ts";
import type { NamedFile, Place } from "./files/named_files.ts";
import type { ParamType, Type } from "./expressions/value_types.ts";

/** Effect of a step, which decides whether it may run again. */
export type StepEffect = "read" | "local" | "write";

/** Class of a recipe, which decides its defaults. The class follows from the step with the strongest effect. */
export type RecipeClass = "read" | "keep-alive" | "write";

/** The day that a run belongs to. */
export interface RunDay {
  /** Date of the slot's session; without a session or a calendar, the slot's own date in `zone`. */
  date: string;
  /** Time zone of the date, such as `Asia/Hong_Kong`. */
  zone: string;
  /**
   * Exchange whose sessions the recipe follows: the one of its schedule, of its window, or of the outer run. Absent if
   * there is none.
   */
  calendar?: Mic;
  /**
   * Set for a run of a schedule with `every`, which has many runs a day. The run's data belongs to its instant, not to
   * the whole day.
   */
  isOneOfMany?: true;
}

/** The present data that a step reads. */
export interface AsOfNow {
  /** Name of the data: `"fills.today"`, or `account, quotes`. */
  reads: string;
  /** The operation for a past day, if there is one. */
  instead?: string;
  /** Exchanges of the markets and securities that the step reads, as far as the parameters name them. */
  exchanges: readonly Mic[];
}

/** A part of every session of an exchange. */
export interface SessionSpan {
  /** Exchange of the session. */
  mic: Mic;
  /** Start of the span. */
  from: SessionTime;
  /** End of the span. */
  to: SessionTime;
}

/** A schedule by the sessions of an exchange. */
export interface CalendarSchedule {
  /** A schedule by the sessions of an exchange. */
  form: "calendar";
  /** Exchange whose sessions have the slots. */
  mic: Mic;
  /** Sessions that have a slot. */
  days:
    | "every-session"
    | "first-session-of-week"
    | "last-session-of-week"
    | "first-session-of-month"
    | "last-session-of-month"
    | "first-session-of-quarter"
    | "last-session-of-quarter";
  /** A session time, or a wall-clock time `HH:MM` in the exchange's zone. */
  at: SessionTime | { time: string };
  /** Whether half-days have a slot. */
  halfDays: "run" | "skip" | "only";
}

/** A schedule by a cron pattern in a named time zone. */
export interface CronSchedule {
  /** A schedule by a cron pattern. */
  form: "cron";
  /** The pattern, with five fields. */
  cron: string;
  /** Time zone of the pattern. */
  timezone: string;
  /** Only on days with a session of this exchange. */
  onlyIn?: Mic;
}

/** A schedule at intervals that count from the epoch, optionally only within sessions. */
export interface EverySchedule {
  /** A schedule with a fixed interval. */
  form: "every";
  /** Interval, milliseconds. */
  everyMs: number;
  /** Part of the session that has slots. */
  while?: SessionSpan;
  /** Longest delay of a slot, milliseconds. The delay itself is computed from a hash of the slot's run key. */
  jitterMs: number;
}

/** A schedule with its id, which is part of run keys. */
export type CompiledSchedule = { id: string } & (CalendarSchedule | CronSchedule | EverySchedule);

/** How missed slots are handled. */
export interface MisfirePolicy {
  /** Grace period, milliseconds: a slot counts as missed if its run has not begun this long after it was due. */
  graceMs: number;
  /** Policy for missed slots. */
  action: "skip" | "latest" | "all" | "ask";
  /** Maximum number of missed slots that `all` runs. */
  max: number;
}

/** A compiled recipe. */
export interface CompiledRecipe {
  /** Name of the recipe. */
  name: string;
  /** One line that says what the recipe does. */
  description?: string;
  /** The recipe's file. */
  file: string;
  /** SHA-256 of the file's text, in hex. */
  sha256: string;
  /** The code that the recipe was loaded from; only for a TypeScript recipe. */
  code?: Pick<StepCode, "files" | "sha256" | "copies">;
  /** Class of the recipe. */
  class: RecipeClass;
  /** When the recipe runs. */
  schedules: readonly CompiledSchedule[];
  /** How missed slots are handled. */
  misfire: MisfirePolicy;
  /** What happens to a slot while the previous run is still running. */
  overlap: "skip" | "queue" | "cancel" | "parallel";
  /** Longest time of a run, milliseconds. */
  timeoutMs: number;
  /** Longest time from a slot to the start of its run, milliseconds. A run that is not started by then is skipped. */
  deadlineMs?: number;
  /** The time of day in which a slot may start and the recipe may write. */
  window?: SessionSpan;
  /** Limits of the recipe's orders; they apply together with the limits of the account. */
  limits?: LimitTexts;
  /**
   * Whether its runs may write, if the settings allow it too.
   *
   * @default false: the runs of a recipe that writes are plans
   */
  live?: boolean;
  /** Whether any step uses the trade login, which only one run at a time may use. */
  needsAccount: boolean;
  /** Default values of the parameters. */
  params: Readonly<Record<string, unknown>>;
  /** The steps, ordered so that each step comes after the steps that it depends on. */
  steps: readonly CompiledStep[];
  /** Notices at the end of a run. */
  notify?: readonly CompiledNotice[];
  /** Address of a monitoring service, or the secret that contains it. */
  ping?: { url: string } | { secret: string };
  /** Which kind of broker connection the recipe wants; the caller has addresses and logins. */
  connect?: RecipeConnection;
  /** Sources of the secrets that the recipe declares. */
  secrets?: Readonly<Record<string, SecretOrigin>>;
  /** Every secret that a step refers to. */
  secretNames?: readonly string[];
  /** Declared parameters; `bindParams` checks other values against them. */
  paramTypes?: Readonly<Record<string, ParamType>>;
}

/** What the compiler knows about another recipe: all of it, or only a few members if its file was not loaded. */
export type KnownRecipe =
  & Pick<CompiledRecipe, "class" | "needsAccount">
  & Partial<
    Pick<
      CompiledRecipe,
      "steps" | "name" | "file" | "params" | "paramTypes" | "connect" | "secrets" | "notify" | "ping"
    >
  >
  & {
    /** Another file of the folder whose recipe has, or may have, the same name. */
    sameNameFile?: string;
  };

/** A notice that is sent at the end of a run. */
export interface CompiledNotice {
  /** Result of a run for which hsgate sends the notice. */
  on: "success" | "failure" | "skip" | "always";
  /** Name of the step that sends the notice. */
  uses: string;
  /** Parameters of that step. */
  with: unknown;
  /** Sends the notice by all channels together; `outcome` of the step's context is the result of the run. */
  step: CompiledStep;
  /** The channels, each with its own step; if absent, `step` is the only channel. */
  channels?: readonly NoticeChannel[];
}

/** One channel of a notice; it sends, fails and retries independently of the other channels. */
export interface NoticeChannel {
  /** `webhook`, `chat` or `mail`, or the name of the step that sends. */
  name: string;
  /** Whether this channel sends only after another channel of the notice has failed. */
  isFallback: boolean;
  /** The step that sends by this channel. */
  step: CompiledStep;
}

/**
 * The result of a run, for its notices. All members are always present; a member that does not apply is an empty
 * text.
 */
export interface NoticeOutcome {
  /** How the run ended, such as `ok` or `failed`. */
  state: string;
  /** Code of the reason, or the reason in the words of the person who gave it. */
  reason: string;
  /** Id of the step that failed. */
  failedStep: string;
  /** Message of the error that ended the failed step. */
  error: string;
}

/** Which broker connection a recipe wants. */
export type RecipeConnection =
  | { to: "gateway"; url?: string }
  | { to: "direct" }
  | { to: "simulator"; seed?: number; at?: string };

/** Source of a secret's value. */
export type SecretOrigin =
  | { env: string }
  | { file: string }
  | { command: readonly string[] };

/** Permissions of a step's process; everything that is not named is denied. */
export interface StepPermissions {
  /** Hosts, such as `api.example.com` or `127.0.0.1:8080`. */
  net?: readonly string[];
  /** Files and folders, relative to the folder of the step's file. */
  read?: readonly string[];
  /** Files and folders, relative to the folder of the step's file. */
  write?: readonly string[];
  /** Names of environment variables. The process gets only these variables, and the variables that Deno needs. */
  env?: readonly string[];
  /** Programs. */
  run?: readonly string[];
}

/** The code of a custom step. */
export interface StepCode {
  /** Paths of the step's file, and of every file in its folder that it imports. */
  files: readonly string[];
  /** SHA-256 over the names and contents of the files, in hex. */
  sha256: string;
  /** The contents that run, by the URLs of the files. */
  copies: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** Permissions that the step's process gets. */
  permissions: StepPermissions;
  /** Base folder of the relative names in the permissions, and the folders that the recipe's author may control. */
  place: Place;
  /** Programs in the recipe's folder that the permissions name. */
  programs: readonly NamedFile[];
}

/** A resource outside hsgate, named in a step's parameters. */
export interface StepReach {
  /**
   * `session`: a call that ends or takes over a login, pushes or market data. `texts`: CSV files whose texts a
   * spreadsheet may run as formulas.
   */
  kind: "host" | "reads" | "writes" | "texts" | "session";
  /**
   * An address or a path as the recipe has it; it may contain expressions and references to secrets. For a session, the
   * operation; for texts, the parameter.
   */
  name: string;
}

/** One compiled step. */
export interface CompiledStep {
  /** Name of the step. */
  id: string;
  /** The step of hsgate, the operation of the catalogue, or the file of a custom step. */
  uses: string;
  /** Effect of the step. */
  effect: StepEffect;
  /** Steps that must have succeeded before: those that the recipe names, and those whose outputs this step reads. */
  needs: readonly string[];
  /** Whether the step uses the trade login, which only one run at a time may use. */
  needsAccount?: boolean;
  /** Longest time of one attempt, milliseconds. */
  timeoutMs?: number;
  /** Number of attempts, and milliseconds to wait before the second attempt; only for reads and local steps. */
  retry?: { attempts: number; waitMs: number };
  /** Whether a step that writes may begin again after it was interrupted. */
  resumes?: true;
  /** Whether the step runs again when a run is resumed, instead of reusing its stored output. */
  fresh: boolean;
  /** The present data that the step reads, as far as known before it runs. */
  asOfNow?: AsOfNow;
  /** Type of the output, as far as known before the run. */
  output?: Type;
  /** Steps whose outputs the condition and the parameters use. */
  reads?: readonly string[];
  /** The parameters as written, with expressions. */
  written?: unknown;
  /** Files whose code the step runs; only for custom steps. */
  files?: readonly string[];
  /** The code of a custom step and its permissions. `"unread"`: the code was not loaded, so the step cannot run. */
  code?: StepCode | "unread";
  /** Hosts and paths that the parameters name, as written. */
  reaches?: readonly StepReach[];
  /**
   * The recipe that the step runs; `"any"` if the compiler did not look it up, so that only the run
   * determines it.
   */
  runs?: KnownRecipe | "any";
  /** Returns whether the step runs; gets the data that is known before the step. */
  condition?: (scope: StepScope) => boolean;
  /**
   * Runs the step; the output is plain JSON data. `ok: false` in the output means that the step did its work and found
   * that data is missing or differs.
   */
  run(context: StepContext): Promise<unknown>;
  /** Returns what the step would do, for a dry run. */
  plan?(context: StepContext): Promise<unknown>;
}

/** Data that expressions may use; it never contains the current time. */
export interface StepScope {
  /** Name of the recipe. */
  recipe: string;
  /** Key of the run. */
  runKey: string;
  /** Id of the slot's schedule; absent for a manual run. */
  scheduleId?: string;
  /** The slot, ISO 8601 in UTC. */
  slot: string;
  /** The session that the slot belongs to. */
  session?: { date: string; open: string; close: string; halfDay: boolean };
  /** The last session before the day of the run. */
  previousSession?: { date: string; open: string; close: string; halfDay: boolean };
  /** Values of the parameters in this run. */
  params: Readonly<Record<string, unknown>>;
  /** Outputs of earlier steps, by id. */
  outputs: Readonly<Record<string, unknown>>;
  /** Result of the run; only for notices. */
  outcome?: NoticeOutcome;
  /** The work that the expressions of the run may still do. @default each step has only its own limit */
  work?: RunWork;
}

/** The work that the expressions of a run may do, over all its steps and the runs that they start. */
export interface RunWork {
  /** Evaluation steps in all. */
  readonly most: number;
  /** Evaluation steps that are left. */
  left: number;
}

/** The order desk of an account, for a step that follows the orders that it places. */
export interface StepDesk extends Pick<Desk, "reconcile" | "whyHalted"> {
  /** The store of the desk. */
  store: Store;
  /** Name of the account. */
  account: string;
  /** Clocks and random numbers of the desk. */
  machine: Machine;
  /** Returns a client whose order writes go through the desk; the run and the step are added to `why`. */
  client(why?: Why): Client;
}

/** Context of a step. */
export interface StepContext extends StepScope {
  /** Text that replaces the text of a notice, for a test of its channel. */
  testText?: string;
  /** Run key and step id: an idempotency key for what the step does outside of hsgate. */
  stepKey: string;
  /** The file of the recipe, as it was loaded. */
  recipeFile: Pick<CompiledRecipe, "file" | "sha256">;
  /** The day that the run belongs to, even if the run begins on a later day. */
  day: RunDay;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Aborted when the step must stop. */
  signal: AbortSignal;
  /** Returns the time of the run, Unix milliseconds. */
  now: () => number;
  /** Trading days of the exchanges. */
  calendars: Calendars;
  /** Waits; rejects when `signal` is aborted. A virtual clock replaces this function. @default waits in real time */
  sleep?(ms: number): Promise<void>;
  /** The client, connected on first use. Only a step with the effect "write" can write with it. */
  client(): Promise<Client>;
  /**
   * The order desk of the run's account, connected on first use; absent in a run without a store. As with
   * {@linkcode StepContext.client}, only a step with the effect "write" can write with its clients.
   */
  desk?(): Promise<StepDesk>;
  /**
   * Reports what the broker's lists show about a write with an unknown outcome. Without this report the run ends as
   * `unknown`, even if the step catches the error.
   *
   * @param error The `OutcomeUnknownError` that the write threw.
   * @param outcome `ok` if the write was executed, `refused` if it was not executed and no longer can be.
   */
  proven?(error: unknown, outcome: "ok" | "refused"): void;
  /**
   * Returns why every further write of this run will be rejected: its window has closed, or live trading is off.
   * Returns `undefined` if writes are allowed, or if the reason may be temporary. A step that waits before it writes
   * can use this to end early.
   */
  whyWritesEnded?(): Promise<string | undefined>;
  /** Folder for files. */
  out: string;
  /** Whether all files must be written below `out`, even if a path is absolute; for a dry run. */
  keepWithin?: boolean;
  /** Writes a line to the log of the run. */
  log(
    level: "debug" | "info" | "warn" | "error",
    message: string,
    data?: Readonly<Record<string, unknown>>,
  ): void;
  /** Reports progress; `detail` is the step's own event, for displays that know it. */
  progress(event: { done?: number; total?: number; text: string; detail?: unknown }): void;
  /** Reports a file that the step wrote. */
  artifact(
    file: {
      dataset: string;
      businessDay?: string;
      path: string;
      bytes: number;
      sha256: string;
      final: boolean;
    },
  ): void | Promise<void>;
  /** Returns the value of a secret by its name; the value is never stored or shown. */
  secret(name: string): Promise<string>;
  /** Returns whether a file contains a secret of the settings or of the recipe. */
  hasSecret(path: string): boolean;
  /** Runs another recipe as a step of this one. */
  runRecipe(name: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
}
