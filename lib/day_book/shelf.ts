/**
 * The folder of an export: one exporter at a time, and each day whole or not there at all.
 *
 * A day is written into `.<day>.partial`, brought onto the disk, and renamed. A folder that it replaces is set aside as
 * `.<name>.previous` first, and one that is to go is called `.<name>.dropped` before it is removed. The next export
 * puts in order what a crash left: a previous folder goes back when its place is empty, everything else is removed.
 * A reading that contradicts a day has a folder beside it, `<day>.disputed-1` and so on. The names tell nothing of the
 * run, so a repeated run leaves the same folder.
 *
 * @module
 */
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../private_files.ts";
import { DayBookError } from "./types.ts";

const LEFT_OVER = /^\.(\d{4}-\d{2}-\d{2}(?:\.disputed-\d+)?)\.(partial|previous|dropped)$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
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
   * @throws {DayBookError} When another export holds it, or when a link takes the place of a file or folder of ours:
   * the export would write or read elsewhere.
   */
  static open(out: string): Shelf {
    makeFolder(out);
    refuseLinks(out);
    const lock = Deno.openSync(`${out}/${LOCK}`, {
      create: true,
      read: true,
      write: true,
      mode: PRIVATE_FILE,
    });
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

  /** Path of a folder or file. */
  path(name: string): string {
    return `${this.out}/${name}`;
  }

  /** The days that are there, oldest first. */
  days(): string[] {
    return this.#names().filter((name) => DAY.test(name)).sort();
  }

  /** Names of the readings that contradict a day, oldest first. */
  beside(day: string): string[] {
    const start = `${day}.disputed-`;
    const numbers = this.#names().filter((name) => name.startsWith(start)).map((name) =>
      Number(name.slice(start.length))
    );
    return numbers.filter(Number.isInteger).sort((a, b) => a - b).map((number) => start + number);
  }

  /** Returns the name for one more reading that contradicts a day. */
  nextBeside(day: string): string {
    const last = this.beside(day).at(-1)?.split("-").at(-1) ?? "0";
    return `${day}.disputed-${Number(last) + 1}`;
  }

  /** Makes the empty folder that a day is written into. */
  begin(day: string): string {
    this.discard(day);
    Deno.mkdirSync(this.#hidden(day, "partial"), { mode: PRIVATE_FOLDER });
    return this.#hidden(day, "partial");
  }

  /** Removes what was written of a day. */
  discard(day: string): void {
    removeIfThere(this.#hidden(day, "partial"));
  }

  /** Brings a written day into the place of a name; `onStage` is told between the steps. */
  publish(
    day: string,
    name: string,
    onStage: (stage: "set-aside" | "in-place" | "tidied") => void,
  ): void {
    const [partial, previous, place] = [
      this.#hidden(day, "partial"),
      this.#hidden(name, "previous"),
      this.path(name),
    ];
    syncFolder(partial);
    if (exists(place)) {
      Deno.renameSync(place, previous);
      onStage("set-aside");
    }
    Deno.renameSync(partial, place);
    this.sync();
    onStage("in-place");
    removeIfThere(previous);
    onStage("tidied");
  }

  /** Removes a folder, whole or not at all. */
  drop(name: string): void {
    const dropped = this.#hidden(name, "dropped");
    Deno.renameSync(this.path(name), dropped);
    this.sync();
    removeIfThere(dropped);
  }

  /** Brings the names of the folder onto the disk. */
  sync(): void {
    syncFolder(this.out);
  }

  /** Lets others in. */
  [Symbol.dispose](): void {
    // A process that another part of the program is starting has the open file too until it runs.
    this.#lock.unlockSync();
    this.#lock.close();
  }

  #hidden(name: string, kind: "partial" | "previous" | "dropped"): string {
    return `${this.out}/.${name}.${kind}`;
  }

  #names(): string[] {
    return [...Deno.readDirSync(this.out)].map(({ name }) => name);
  }

  #recover(): void {
    for (const name of this.#names()) {
      const [, place, kind] = LEFT_OVER.exec(name) ?? [];
      if (place === undefined) continue;
      if (kind === "previous" && !exists(this.path(place))) {
        Deno.renameSync(this.#hidden(place, "previous"), this.path(place));
      } else removeIfThere(`${this.out}/${name}`);
    }
  }
}

/** Names of everything that an export reads or writes in its folder. */
const OURS = /^\.?(\d{4}-\d{2}-\d{2}|day-book\.lock|account\.json)/;

/** Refuses a folder in which a link leads elsewhere. */
function refuseLinks(out: string): void {
  for (const { name, isSymlink } of Deno.readDirSync(out)) {
    if (!isSymlink || !OURS.test(name)) continue;
    throw new DayBookError(
      `Cannot export into "${out}": "${name}" is a symbolic link, and an export writes into its own folder only; ` +
        "remove the link, or move what it leads to here",
      { code: "link" },
    );
  }
}

/** Makes a folder and those above it, and brings their names onto the disk. */
function makeFolder(path: string): void {
  const isNew = !exists(path);
  Deno.mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  for (let above = path; isNew && above !== "." && above !== "/";) {
    above = above.replace(/\/*[^/]*\/*$/, "") || (above.startsWith("/") ? "/" : ".");
    try {
      syncFolder(above);
    } catch (error) {
      // A program with permission for this folder only cannot open the one above.
      if (error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied) return;
      throw error;
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
