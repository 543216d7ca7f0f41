/**
 * Chooses the points of a program at which a test injects a fault: every point, or a sample.
 *
 * @module
 */
import { randomFrom } from "../../lib/time.ts";

/** Which points to choose. */
export interface PointsWanted {
  /** `"all"`, or how many points. */
  points: "all" | number;
  seed: number;
}

/**
 * Returns which points the environment asks for: `HSGATE_TEST_POINTS` is `all` or a number, `HSGATE_TEST_SEED` is a
 * whole number. Their defaults are `sample` and 1, so that a test has the same points each time.
 */
export function wantedPoints(sample: "all" | number): PointsWanted {
  const points = Deno.env.get("HSGATE_TEST_POINTS");
  return {
    points: points === undefined ? sample : points === "all" ? "all" : Number(points),
    seed: Number(Deno.env.get("HSGATE_TEST_SEED") ?? 1),
  };
}

/**
 * Returns points from 0 to `count - 1`, increasing. For a sample, it divides the range into equal parts and chooses one
 * random point in each.
 */
export function choosePoints(count: number, { points, seed }: PointsWanted): number[] {
  if (points === "all" || points >= count) return Array.from({ length: count }, (_, at) => at);
  const random = randomFrom(seed);
  return Array.from({ length: points }, (_, part) => Math.floor((part + random()) * count / points));
}
