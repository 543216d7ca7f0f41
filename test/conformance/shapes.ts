/**
 * Holding answers against the shapes of `cases.ts`.
 *
 * @module
 */
import type { Shape } from "./cases.ts";

/** Finds `a.0.b`. */
export function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (inner, step) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[step] : undefined,
    value,
  );
}

/** Says what does not have the documented shape. */
export function mismatches(value: unknown, shape: Shape, path = "data"): string[] {
  if (typeof shape === "string") {
    const kind = typeof value === "string" ? "text" : typeof value;
    return kind === shape ? [] : [`${path} is ${kind}, not ${shape}`];
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value) || value.length === 0) return [`${path} is no list with rows`];
    return value.flatMap((row, index) => mismatches(row, shape[0] as Shape, `${path}.${index}`));
  }
  if (typeof value !== "object" || value === null) return [`${path} is no record`];
  return Object.entries(shape).flatMap(([member, inner]) =>
    mismatches(at(value, member), inner, `${path}.${member}`)
  );
}
