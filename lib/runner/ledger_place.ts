/**
 * Whether a ledger lies where it outlives the process: what an order journal must, or the next process would not know
 * what this one sent.
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
 * Tells why a ledger there may be lost, or shared where it cannot be; nothing when all is well, as far as can be known.
 *
 * @param path Absolute, with its links resolved.
 */
export function doubtAbout(path: string, { fileSystem: type, temporary }: PlaceOptions): Doubt | undefined {
  if (path === ":memory:" || path === "") return { why: "it is held in memory", outlives: false };
  if (type !== undefined && memory.includes(type)) {
    return { why: `it lies in memory (${type})`, outlives: false };
  }
  if (type !== undefined && network.includes(type)) {
    return {
      why: `it lies on a network file system (${type}), where two machines could write at once`,
      outlives: false,
    };
  }
  if (type !== undefined && layers.includes(type)) {
    return { why: "it lies in the layer of a container, which goes with it; a volume stays", outlives: true };
  }
  const folder = temporary.find((each) => isWithin(path, each));
  return folder === undefined
    ? undefined
    : { why: `it lies in "${folder}", which the system empties`, outlives: true };
}

const isWithin = (path: string, folder: string): boolean =>
  folder === "/" || path === folder || path.startsWith(`${folder.replace(/\/+$/, "")}/`);
