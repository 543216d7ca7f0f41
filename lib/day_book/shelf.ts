/**
 * The folder of an export: one exporter at a time, and each day whole or not there at all.
 *
 * A day is written into `.<day>.partial`, brought onto the disk, and renamed. A day that is there is set aside as
 * `.<day>.previous` first; whoever finds one of these after a crash puts it back when the day is missing, and
 * removes it otherwise. The names tell nothing of the run, so a repeated run leaves the same folder.
 *
 * @module
 */
import { DayBookError } from "./types.ts";

const LEFT_OVER = /^\.(\d{4}-\d{2}-\d{2})\.(partial|previous)$/;
const LOCK = ".day-book.lock";

/** An open folder of day books. Close it to let others in. */
export class Shelf implements Disposable {
  readonly #lock: Deno.FsFile;

  private constructor(readonly out: string, lock: Deno.FsFile) {
    this.#lock = lock;
  }

  /**
   * Makes the folder if need be, locks it, and puts in order what a killed run left.
   *
   * @throws {DayBookError} When another export holds it.
   */
  static open(out: string): Shelf {
    Deno.mkdirSync(out, { recursive: true });
    const lock = Deno.openSync(`${out}/${LOCK}`, { create: true, read: true, write: true });
    // The system lets go of the lock when the process ends, however it ends.
    if (!lock.tryLockSync(true)) {
      lock.close();
      throw new DayBookError(
        `Cannot export into "${out}": another export is writing there; wait for it to end`,
        {
          code: "locked",
        },
      );
    }
    const shelf = new Shelf(out, lock);
    try {
      shelf.#recover();
    } catch (error) {
      shelf[Symbol.dispose]();
      throw error;
    }
    return shelf;
  }

  /** Folder of a day. */
  path(day: string): string {
    return `${this.out}/${day}`;
  }

  /** Makes the empty folder that a day is written into. */
  begin(day: string): string {
    this.discard(day);
    Deno.mkdirSync(this.#partial(day));
    return this.#partial(day);
  }

  /** Removes what was written of a day. */
  discard(day: string): void {
    removeIfThere(this.#partial(day));
  }

  /** Brings a written day into its place; `onStage` is told between the steps. */
  publish(day: string, onStage: (stage: "set-aside" | "in-place" | "tidied") => void): void {
    const [partial, previous, place] = [this.#partial(day), this.#previous(day), this.path(day)];
    syncFolder(partial);
    if (exists(place)) {
      Deno.renameSync(place, previous);
      onStage("set-aside");
    }
    Deno.renameSync(partial, place);
    syncFolder(this.out);
    onStage("in-place");
    removeIfThere(previous);
    onStage("tidied");
  }

  /** Lets others in. */
  [Symbol.dispose](): void {
    this.#lock.close();
  }

  #partial(day: string): string {
    return `${this.out}/.${day}.partial`;
  }

  #previous(day: string): string {
    return `${this.out}/.${day}.previous`;
  }

  #recover(): void {
    for (const { name } of [...Deno.readDirSync(this.out)]) {
      const [, day, kind] = LEFT_OVER.exec(name) ?? [];
      if (day === undefined) continue;
      if (kind === "previous" && !exists(this.path(day))) {
        Deno.renameSync(this.#previous(day), this.path(day));
      } else removeIfThere(`${this.out}/${name}`);
    }
  }
}

/** Tells whether a path is there. */
export function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function removeIfThere(path: string): void {
  if (exists(path)) Deno.removeSync(path, { recursive: true });
}

/** Brings a folder's names onto the disk. Windows has no such call and needs none. */
function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  using folder = Deno.openSync(path);
  folder.syncSync();
}
