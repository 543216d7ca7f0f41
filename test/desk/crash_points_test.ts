/**
 * Tests a program that sends orders: kills it at some of the points where it waits, and checks that the restarted
 * program places each order once. See `crash_points.ts`.
 */
import { assert, assertEquals } from "@std/assert";
import { wantedPoints } from "../support/points.ts";
import { postgres } from "../support/stores.ts";
import { crashPoints } from "./crash_points.ts";

for (const transport of ["gateway", "direct"] as const) {
  for (const store of ["sqlite", "postgres"] as const) {
    Deno.test({
      name:
        `F06: if a program is killed while it waits, its next start completes the work, and each order is placed once, over ${transport} with ${store}`,
      ignore: store === "postgres" && postgres === undefined,
      async fn() {
        const wanted = wantedPoints(4);
        const counts = await crashPoints({ transport, store, ...wanted });
        // deno-lint-ignore no-console -- the counts are what the test is for
        console.log(JSON.stringify(counts));
        const planned = wanted.points === "all" ? counts.points : wanted.points;
        assertEquals(counts.killed + counts.notReached, planned);
        // A socket may read the same bytes in fewer pieces, so a run may have a few points less than the first one.
        assert(counts.killed > planned / 2, `only ${counts.killed} of ${planned} points were reached`);
      },
    });
  }
}
