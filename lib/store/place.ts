/**
 * Checks whether a store may be lost or corrupted because of its location. Without the store, the next process would not
 * know which orders were sent.
 *
 * @module
 */

/** What is known about the location: the type of its file system, and the folders that the system empties. */
export interface PlaceOptions {
  /** Type of the file system, such as `ext4`; absent if unknown. */
  fileSystem?: string;
  /** Folders that the system empties, such as `/tmp`. */
  temporary: readonly string[];
}

const memory = ["tmpfs", "ramfs", "devtmpfs"];
/** Network file systems; their locks and shared memory do not reliably separate processes. */
const network = ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "fuse.sshfs"];
const layers = ["overlay", "aufs", "fuse-overlayfs", "fuse.fuse-overlayfs"];

/** Why a store may be lost or corrupted. */
export interface StoreRisk {
  why: string;
  /**
   * `true` if the store is in memory, or if other machines may corrupt it; then the runner sends no write. If `false`,
   * the store survives this process, but the container or the system may delete it later.
   */
  blocksWrites: boolean;
}

/**
 * Returns why a store at a path may be lost or corrupted; `undefined` if no reason is known.
 *
 * @param path Absolute, with its links resolved.
 */
export function storeRiskOf(
  path: string,
  { fileSystem: type, temporary }: PlaceOptions,
): StoreRisk | undefined {
  if (path === ":memory:" || path === "") return { why: "it is kept in memory", blocksWrites: true };
  if (type !== undefined && memory.includes(type)) {
    return { why: `it is on a file system in memory (${type})`, blocksWrites: true };
  }
  if (type !== undefined && network.includes(type)) {
    return {
      why: `it is on a network file system (${type}), where two machines could write at once`,
      blocksWrites: true,
    };
  }
  if (type !== undefined && layers.includes(type)) {
    return {
      why: "it is inside the container's own layer and is deleted with the container; put it on a volume",
      blocksWrites: false,
    };
  }
  const folder = temporary.find((each) => isWithin(path, each));
  return folder === undefined
    ? undefined
    : { why: `it is in "${folder}", which the system empties`, blocksWrites: false };
}

const isWithin = (path: string, folder: string): boolean =>
  folder === "/" || path === folder || path.startsWith(`${folder.replace(/\/+$/, "")}/`);
