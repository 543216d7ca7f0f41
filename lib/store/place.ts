/**
 * Checks whether the location of a store survives the process. Otherwise the next process would not know which orders
 * this process sent.
 *
 * @module
 */

/** What is known of the machine. */
export interface PlaceOptions {
  /** Type of the file system that it lies on, such as `ext4`, where that is known. */
  fileSystem?: string;
  /** Folders that the system empties, such as `/tmp`. */
  temporary: readonly string[];
}

const memory = ["tmpfs", "ramfs", "devtmpfs"];
/** SQLite keeps processes apart by locks and shared memory that these do not give. */
const network = ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "fuse.sshfs"];
const layers = ["overlay", "aufs", "fuse-overlayfs", "fuse.fuse-overlayfs"];

/** Why a file may not be there any more when it is needed. */
export interface Doubt {
  why: string;
  /** It outlives the process, and is gone with the container or when the system tidies up. */
  outlives: boolean;
}

/**
 * Returns why a store at a path may be lost or corrupted; `undefined` if no reason is known.
 *
 * @param path Absolute, with its links resolved.
 */
export function doubtAbout(path: string, { fileSystem: type, temporary }: PlaceOptions): Doubt | undefined {
  if (path === ":memory:" || path === "") return { why: "it is kept in memory", outlives: false };
  if (type !== undefined && memory.includes(type)) {
    return { why: `it is on a file system in memory (${type})`, outlives: false };
  }
  if (type !== undefined && network.includes(type)) {
    return {
      why: `it is on a network file system (${type}), where two machines could write at once`,
      outlives: false,
    };
  }
  if (type !== undefined && layers.includes(type)) {
    return {
      why: "it is inside the container's own layer and is deleted with the container; put it on a volume",
      outlives: true,
    };
  }
  const folder = temporary.find((each) => isWithin(path, each));
  return folder === undefined
    ? undefined
    : { why: `it is in "${folder}", which the system empties`, outlives: true };
}

const isWithin = (path: string, folder: string): boolean =>
  folder === "/" || path === folder || path.startsWith(`${folder.replace(/\/+$/, "")}/`);
