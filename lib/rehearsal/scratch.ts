/**
 * Creates a temporary folder for the files of a rehearsal.
 *
 * @module
 */
import { statfs } from "node:fs/promises";
import { ownTemporaryFolder } from "../owned_files.ts";

/** Folder in memory on Linux. A year of exports writes many small files, which takes twice as long on a disk. */
const IN_MEMORY = "/dev/shm";
/** Free memory that the folder requires, bytes. A year of the ready recipes needs about 40 MB. */
const ROOM_BYTES = 2 ** 30;

/**
 * Creates a folder that is removed on disposal: in memory if there is enough space, otherwise in the system's temporary
 * folder.
 */
export async function scratchFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await inMemory() ?? await ownTemporaryFolder({ prefix: "hsgate-test-" });
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

async function inMemory(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return undefined;
  try {
    const { bavail, bsize } = await statfs(IN_MEMORY);
    if (bavail * bsize < ROOM_BYTES) return undefined;
    return await Deno.makeTempDir({ dir: IN_MEMORY, prefix: "hsgate-test-" });
  } catch {
    return undefined; // the folder does not exist, or this process may not use it
  }
}
