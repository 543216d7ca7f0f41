/** Tests that a program of order writes survives SIGKILL where it waits: at a sample of the points of `crash_points.ts`. */
import { assertEquals } from "@std/assert";
import { wantedPoints } from "../support/points.ts";
import { postgres } from "../support/stores.ts";
import { crashPoints } from "./crash_points.ts";

for (const transport of ["gateway", "direct"] as const) {
  for (const store of ["sqlite", "postgres"] as const) {
    Deno.test({
      name:
        `F06: a program that is killed where it waits places each order once, over ${transport} with ${store}`,
      ignore: store === "postgres" && postgres === undefined,
      async fn() {
        const wanted = wantedPoints(4);
        const counts = await crashPoints({ transport, store, ...wanted });
        // deno-lint-ignore no-console -- the counts are what the test is for
        console.log(JSON.stringify(counts));
        assertEquals(
          counts.killed + counts.notReached,
          wanted.points === "all" ? counts.points : wanted.points,
        );
        if (wanted.points !== "all") {
          assertEquals(counts.notReached, 0, "each point of the sample was reached");
        }
      },
    });
  }
}
