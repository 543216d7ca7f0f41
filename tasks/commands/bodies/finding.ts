/**
 * What `hsgate doctor` finds.
 *
 * @module
 */
import type { ExitCode } from "../exit_codes.ts";

/** What one check found. */
export interface Finding {
  /** What was looked at. */
  check: string;
  state: "ok" | "warning" | "failed";
  /** What was found. */
  text: string;
  /** What to do about it. */
  advice?: string;
  /** How the program ends when this is the first failure. */
  exitCode?: ExitCode;
}

/** How long a check waits. */
export interface Patience {
  timeoutMs: number;
  signal: AbortSignal;
}

/** All is well. */
export function ok(check: string, text: string): Finding {
  return { check, state: "ok", text };
}

/** It works, and there is something to know. */
export function warning(check: string, text: string, advice: string): Finding {
  return { check, state: "warning", text, advice };
}

/** It does not work. */
export function failed(check: string, text: string, advice: string, exitCode: ExitCode): Finding {
  return { check, state: "failed", text, advice, exitCode };
}
