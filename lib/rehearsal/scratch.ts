/**
 * A folder for the files of a rehearsal that nobody keeps.
 *
 * @module
 */
import { statfs } from "node:fs/promises";

/** Where Linux keeps files in memory. A year of exports makes many small ones, and a disk takes twice the time. */
const IN_MEMORY = "/dev/shm";
/** A year of the ready recipes takes about 40 MB. */
const ROOM_BYTES = 2 ** 30;

/** Makes a folder that is removed at the end: in memory where there is room enough, else where others are. */
export async function scratchFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await inMemory() ?? await Deno.makeTempDir({ prefix: "hsgate-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

async function inMemory(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  try {
    const { bavail, bsize } = await statfs(IN_MEMORY);
    if (bavail * bsize < ROOM_BYTES) return undefined;
    return await Deno.makeTempDir({ dir: IN_MEMORY, prefix: "hsgate-test-" });
  } catch {
    return undefined; // not there, or not for us
  }
}
