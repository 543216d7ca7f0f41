/**
 * Begins a write with a store and kills its own process during the write.
 *
 * @module
 */
import { openSqlite } from "../../lib/store/sqlite.ts";
import type { CompiledRecipe } from "../../lib/recipes/compiled.ts";
import { bench, orders, step } from "./support.ts";

/** Starts the process; it ends by SIGKILL during the write of 2025-12-22. */
export const killInWrite = (path: string): Promise<void> => kill(path, "in-write");

/** Starts the process; it ends by SIGKILL on 2025-12-22, after it has sold and before it buys. See {@linkcode rebalance}. */
export const killBetween = (path: string): Promise<void> => kill(path, "between");

async function kill(path: string, where: "in-write" | "between"): Promise<void> {
  const { signal } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, path, where],
    stdout: "null",
    stderr: "inherit",
  }).output();
  if (signal !== "SIGKILL") throw new Error("the process was not killed during the run");
}

/** Sells and then buys; each leg adds a line to the file with the store's path and the ending `.sent`. */
export function rebalance(path: string, between: () => void): CompiledRecipe {
  const leg = (id: string, needs: string[]) =>
    step({
      id,
      effect: "write",
      needs,
      run: () => Promise.resolve(Deno.writeTextFileSync(`${path}.sent`, `${id}\n`, { append: true })),
    });
  const look = step({ id: "look", needs: ["sell"], run: () => Promise.resolve(between()) });
  return orders([], { steps: [leg("sell", []), look, leg("buy", ["look"])] });
}

if (import.meta.main) {
  const end = () => Deno.kill(Deno.pid, "SIGKILL");
  const store = await openSqlite(Deno.args[0]!);
  const recipes = [
    Deno.args[1] === "between" ? rebalance(Deno.args[0]!, end) : orders([], {
      steps: [step({
        id: "place",
        effect: "write",
        run: () => Promise.resolve(end()),
      })],
    }),
  ];
  const { scheduler, machine } = await bench({ start: "2025-12-22T01:30:00Z", recipes, store });
  await scheduler.start();
  await machine.pass(3_600_000);
}
