/**
 * What went wrong with an export, in words that say what is kept and what to do.
 *
 * @module
 */
import { BusyError, LoginExpiredError, ProtocolError, TransportError } from "../errors.ts";
import { DayBookError } from "./types.ts";

/** Where an export stopped. */
export interface FailureContext {
  out: string;
  day: string | undefined;
  kept: readonly string[];
  aborted: boolean;
}

const ENOSPC = /os error 28\b|os error 112\b|no space left/i;
const READ_ONLY = /os error 30\b|read-only/i;

interface Reason {
  code: string;
  reason: string;
  advice: string;
}

/** Turns whatever was thrown into the error of an export. */
export function dayBookFailure(error: unknown, { out, day, kept, aborted }: FailureContext): DayBookError {
  if (error instanceof DayBookError && error.kept.length === kept.length && error.day === day) return error;
  const { code, reason, advice } = reasonOf(error, out, aborted);
  const earlier = kept.length === 0
    ? "no day was finished before"
    : `${kept.length === 1 ? "1 day is" : `${kept.length} days are`} kept (${kept[0]} to ${kept.at(-1)})`;
  const what = error instanceof DayBookError
    ? error.message
    : `Cannot export ${day ?? `into "${out}"`}: ${reason}`;
  return new DayBookError(`${what}; ${earlier}${advice === "" ? "" : `; ${advice}`}`, {
    code: error instanceof DayBookError ? error.code : code,
    day,
    kept,
    cause: error,
  });
}

function reasonOf(error: unknown, out: string, aborted: boolean): Reason {
  const again = "run the same export again to go on";
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof DayBookError) return { code: error.code ?? "failed", reason: text, advice: "" };
  if (aborted) return { code: "aborted", reason: "it was stopped", advice: again };
  if (ENOSPC.test(text)) {
    return { code: "disk-full", reason: `no space left for "${out}"`, advice: `make room, then ${again}` };
  }
  const { PermissionDenied, NotCapable, NotADirectory, AlreadyExists } = Deno.errors;
  if ([PermissionDenied, NotCapable].some((kind) => error instanceof kind) || READ_ONLY.test(text)) {
    return {
      code: "not-writable",
      reason: `"${out}" cannot be written (${text})`,
      advice: `allow writing there or choose another folder, then ${again}`,
    };
  }
  if ([NotADirectory, AlreadyExists].some((kind) => error instanceof kind)) {
    return {
      code: "not-a-folder",
      reason: `"${out}" is no folder (${text})`,
      advice: "choose another folder",
    };
  }
  if (error instanceof LoginExpiredError) {
    return { code: "login", reason: text, advice: `log in, then ${again}` };
  }
  if (error instanceof TransportError || error instanceof BusyError) {
    return { code: "unreachable", reason: text, advice: `see that the gateway runs, then ${again}` };
  }
  if (error instanceof ProtocolError) return { code: "interrupted", reason: text, advice: again };
  return { code: "failed", reason: text, advice: again };
}
