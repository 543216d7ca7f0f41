/**
 * Keeps a store locked in another process, like a backup program or a long transaction.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";

/** A lock on a store, held by another process. */
export interface Locker extends AsyncDisposable {
  /** Releases the lock after a time. */
  releaseAfter(ms: number): Promise<void>;
}

/** Locks a store until it is released or disposed. */
export async function lockStore(path: string): Promise<Locker> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", import.meta.filename!, path],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const out = child.stdout.getReader();
  await out.read(); // it prints a line when it has the lock
  const input = child.stdin.getWriter();
  return {
    async releaseAfter(ms) {
      await input.write(new TextEncoder().encode(`${ms}\n`));
    },
    async [Symbol.asyncDispose]() {
      await input.close().catch(() => {});
      await out.cancel();
      await child.status;
    },
  };
}

if (import.meta.main) {
  using db = new DatabaseSync(Deno.args[0]!);
  db.exec("begin immediate");
  await Deno.stdout.write(new TextEncoder().encode("locked\n"));
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    await new Promise((resolve) => setTimeout(resolve, Number(text)));
    break;
  }
  db.exec("commit");
}
