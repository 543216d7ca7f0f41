/**
 * Declares what the runner needs to run recipes. The program that starts the runner passes these values to it.
 *
 * @module
 */
import type { Calendars } from "../calendars/mod.ts";
import type { Client } from "../client/client.ts";
import type { Limits } from "../client/limits.ts";
import type { CompiledRecipe, RunDay, RunWork } from "../recipes/compiled.ts";
import type { Redactor } from "../redact.ts";
import type { Store } from "../store/store.ts";
import type { CallingStep } from "./claims/claim.ts";
import type { Machine } from "../time.ts";
import type { RunRow } from "./queries/runs.ts";
import type { ReportOptions } from "./run/report.ts";

/** What the runner needs to run recipes. */
export interface RunDeps extends Pick<ReportOptions, "tracer" | "onEvent" | "logLevel"> {
  store: Store;
  machine: Machine;
  /** Clocks and timers of the order desk. @default `machine` */
  deskMachine?: Machine;
  /** Returns the calendars with the trading days of the exchanges, in their current version. */
  calendars(): Calendars;
  /** Folder into which steps write files. */
  out: string;
  redactor: Redactor;
  /** Returns the client for a recipe, connected on first use. */
  client(recipe: CompiledRecipe): Promise<Client>;
  /** Returns the reason if a halt file on this machine stops every order write. @default none */
  haltedByFile?(): string | undefined;
  /**
   * If the answer to a write was lost: how long the step searches for the outcome in the broker's lists; see
   * `DeskOptions`. @default 15 s
   */
  resolveMs?: number;
  /** Time limit of one call to the broker. The order desk records this limit with each order. @default 10 s */
  timeoutMs?: number;
  /** Limits of the account's orders. @default no limits, and every recipe may trade live */
  limits?: Limits;
  /** Returns the clock of a recipe's simulator; `undefined` if its steps use the clock of the machine. */
  timeOf?(recipe: CompiledRecipe): (() => number) | undefined;
  /** Returns the value of a secret by its name. */
  secret(name: string): Promise<string>;
  /** Returns a salted mark of the password that the recipe uses to log in; see `markPassword`. @default none */
  passwordMarkOf?(recipe: CompiledRecipe, salt: string): string | undefined;
  /**
   * The state that a run gets if it is stopped before it has begun to write. After `due`, another process continues it.
   *
   * @default "due"
   */
  whenStopped?: "due" | "cancelled";
  /** The day of the outer run, for nested runs. @default none: each run has its own day */
  within?: RunDay;
  /** For nested runs: the work that the outer run's expressions may still do. @default the full amount of a new run */
  work?: RunWork;
  /** Called in the transaction that ends a run. Not called if the run is due again, or if a person stopped it. */
  onEnd?(recipe: CompiledRecipe, row: RunRow): void | Promise<void>;
  /** Runs another recipe as a step of this one. */
  runRecipe?(parent: CallingStep, name: string, params: Readonly<Record<string, unknown>>): Promise<unknown>;
}
