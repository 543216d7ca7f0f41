/**
 * Makes the keys of runs, and values that depend only on a key. Two starts with the same key are one run.
 *
 * @module
 */
import type { CompiledSchedule } from "../../recipes/compiled.ts";
import type { Slot } from "./slots.ts";

/** Returns the key of a slot's run: `eod/s1/2025-08-15`. It omits the recipe's text, so that an edit runs no slot again. */
export function runKeyOf(recipe: string, schedule: CompiledSchedule, slot: Slot): string {
  return `${recipe}/${schedule.id}/${slot.key}`;
}

/** Returns the key of a run that a person started. */
export function manualRunKey(recipe: string, id: string): string {
  return `${recipe}/m/${id}`;
}

/** Returns the delay of a run after its slot. Every process computes the same delay (FNV-1a of the key). */
export function jitterOf(runKey: string, jitterMs: number): number {
  if (jitterMs <= 0) return 0;
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(runKey)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  // Short keys that differ in their last digits differ only in low bits, so the bits are mixed.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return Math.floor(((hash ^ (hash >>> 13)) >>> 0) / 0x1_0000_0000 * jitterMs);
}

/** Namespace of the ids that are made of run keys. */
const NAMESPACE = "6c1f7d0e-8a55-5e0b-9a4b-3d1c5b7e2f90";

/** Returns the UUIDv5 of a run key, which identifies the run at a dead-man service. */
export async function runId(runKey: string): Promise<string> {
  const space = Uint8Array.fromHex(NAMESPACE.replaceAll("-", ""));
  const name = new TextEncoder().encode(runKey);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", new Uint8Array([...space, ...name])));
  const bytes = hash.slice(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50; // sixteen bytes
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
