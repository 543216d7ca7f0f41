/**
 * Compares answers with the shapes in `cases.ts`.
 *
 * @module
 */
import type { Shape } from "./cases.ts";

/** Returns the value at a path such as `a.0.b`. */
export function at(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (inner, step) =>
      typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[step] : undefined,
    value,
  );
}

/** Returns a message for each value without the documented shape. */
export function mismatches(value: unknown, shape: Shape, path = "data"): string[] {
  if (typeof shape === "string") {
    const kind = typeof value === "string" ? "text" : typeof value;
    return kind === shape ? [] : [`${path} is ${kind}, not ${shape}`];
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value) || value.length === 0) return [`${path} is not a list with rows`];
    return value.flatMap((row, index) => mismatches(row, shape[0] as Shape, `${path}.${index}`));
  }
  if (typeof value !== "object" || value === null) return [`${path} is not a record`];
  return Object.entries(shape).flatMap(([member, inner]) =>
    mismatches(at(value, member), inner, `${path}.${member}`)
  );
}
