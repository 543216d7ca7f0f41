/**
 * Manages the folder of an export. Only one export uses the folder at a time, and each day in it is either complete
 * or absent.
 *
 * A day is written into `.<day>.partial`, synced to the disk, and renamed. If it replaces a folder, the old folder is
 * first renamed to `.<name>.previous`. Before a folder is removed, it is renamed to `.<name>.dropped`. The next export
 * cleans up after a crash: it restores a `previous` folder if there is no folder of its name, and removes all other
 * leftovers. If an export reads data that contradict the stored day, it writes these data (the reading) into another
 * folder, `<day>.disputed-1` and so on. If a later export reads the same data again, it uses the same folder.
 *
 * @module
 */
import { exists, openLock, PRIVATE_FOLDER, syncFolder } from "../../private_files.ts";
import { DayBookError } from "../types.ts";

const LEFT_OVER = /^\.(\d{4}-\d{2}-\d{2}(?:\.disputed-\d+)?)\.(partial|previous|dropped)$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const LOCK = ".day-book.lock";

/** An open folder of day books. Dispose it to unlock the folder for other exports. */
export class ExportFolder implements Disposable {
  readonly #lock: Deno.FsFile;
  /** Device and inode of the folder of the unfinished day. */
  #begun: Pick<Deno.FileInfo, "dev" | "ino"> | undefined;

  private constructor(readonly out: string, lock: Deno.FsFile) {
    this.#lock = lock;
  }

  /**
   * Creates the folder if needed, locks it, and cleans up after a killed run.
   *
   * @throws {DayBookError} If another export has locked the folder. Also if a file or folder of the export is a
   * symbolic link, because a link may lead to another place.
   */
  static open(out: string): ExportFolder {
    makeFolder(out);
    rejectLinks(out, OURS);
    const lock = openLock(`${out}/${LOCK}`);
    // The system releases the lock when the process ends, also after a crash.
    if (!lock.tryLockSync(true)) {
      lock.close();
      throw new DayBookError(
        `Cannot export into "${out}": another export is writing there; wait for it to end`,
        {
          code: "locked",
        },
      );
    }
    const exportFolder = new ExportFolder(out, lock);
    try {
      exportFolder.#recover();
    } catch (error) {
      exportFolder[Symbol.dispose]();
      throw error;
    }
    return exportFolder;
  }

  /** Returns the path of a file or folder in the export folder. */
  path(name: string): string {
    return `${this.out}/${name}`;
  }

  /** Returns the exported days, oldest first. */
  days(): string[] {
    return this.#names().filter((name) => DAY.test(name)).sort();
  }

  /** Returns the names of the readings that contradict a day, oldest first. */
  disputed(day: string): string[] {
    const start = `${day}.disputed-`;
    const numbers = this.#names().filter((name) => name.startsWith(start)).map((name) =>
      Number(name.slice(start.length))
    );
    return numbers.filter(Number.isInteger).sort((a, b) => a - b).map((number) => start + number);
  }

  /** Returns the folder name for one more reading that contradicts a day. */
  nextDisputed(day: string): string {
    const last = this.disputed(day).at(-1)?.split("-").at(-1) ?? "0";
    return `${day}.disputed-${Number(last) + 1}`;
  }

  /** Creates the empty folder into which a day is written. Returns its path. */
  begin(day: string): string {
    this.discard(day);
    const folder = this.#hidden(day, "partial");
    Deno.mkdirSync(folder, { mode: PRIVATE_FOLDER });
    this.#begun = Deno.lstatSync(folder);
    return folder;
  }

  /**
   * Checks that the folder of the unfinished day is still the one that {@linkcode begin} created. Another program
   * could have put a link in its place, through which the export would replace files elsewhere.
   *
   * @throws {DayBookError} With code `link` if it is another folder, or a link.
   */
  checkBegun(day: string): void {
    const folder = this.#hidden(day, "partial");
    // If the folder is a link, these are the device and the inode of the link itself.
    const { dev, ino } = Deno.lstatSync(folder);
    if (dev === this.#begun?.dev && ino === this.#begun.ino) return;
    throw new DayBookError(
      `Cannot export into "${this.out}": another program replaced the folder of the unfinished day; choose a folder ` +
        "in which no other program writes",
      { code: "link" },
    );
  }

  /** Removes the partly written folder of a day. */
  discard(day: string): void {
    removeIfThere(this.#hidden(day, "partial"));
  }

  /** Moves a written day to its final name; calls `onStage` after each step. */
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
    this.checkBegun(day);
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

  /** Removes a folder. After a crash, the folder is either complete or gone. */
  drop(name: string): void {
    const dropped = this.#hidden(name, "dropped");
    Deno.renameSync(this.path(name), dropped);
    syncFolder(this.out);
    removeIfThere(dropped);
  }

  /** Unlocks the folder. */
  [Symbol.dispose](): void {
    // Unlock explicitly: a child process that starts at this moment may inherit the open file and its lock.
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

/** Names of all files and folders that an export reads or writes in its folder. */
const OURS = /^\.?(\d{4}-\d{2}-\d{2}|day-book\.lock|account\.json)/;

/**
 * Rejects symbolic links in a folder of the export: they may lead to any file of the user.
 *
 * @param names Matches the names to check.
 * @throws {DayBookError} With code `link` if there is one.
 */
export function rejectLinks(folder: string, names = /^/): void {
  for (const { name, isSymlink } of Deno.readDirSync(folder)) {
    if (!isSymlink || !names.test(name)) continue;
    throw new DayBookError(
      `Cannot export into "${folder}": "${name}" is a symbolic link, and an export writes only into its own folder; ` +
        "remove the link, or move its target here",
      { code: "link" },
    );
  }
}

/** Creates a folder and its parents, and syncs their names to the disk. */
function makeFolder(path: string): void {
  const isNew = !exists(path);
  Deno.mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  for (let above = path; isNew && above !== "." && above !== "/";) {
    above = above.replace(/\/*[^/]*\/*$/, "") || (above.startsWith("/") ? "/" : ".");
    try {
      syncFolder(above);
    } catch (error) {
      // A program with permission for only this folder cannot open its parent.
      if (error instanceof Deno.errors.NotCapable || error instanceof Deno.errors.PermissionDenied) return;
      throw error;
    }
  }
}

function removeIfThere(path: string): void {
  if (exists(path)) Deno.removeSync(path, { recursive: true });
}
