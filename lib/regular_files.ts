/**
 * Opens and reads regular files only. A folder from somebody else may contain a named pipe or a device: opening a
 * pipe waits for another process, and reading a device may never end.
 *
 * @module
 */

/** Why a file is not read. */
interface FileRefusal {
  refused: string;
}

/**
 * Returns why this is not a regular file of at most `mostBytes` bytes; `undefined` if it is. Also accepts the pipe
 * that a shell creates for `<(command)`, such as `/dev/fd/63`.
 */
function refusalOf(path: string | URL, info: Deno.FileInfo, mostBytes = Infinity): FileRefusal | undefined {
  const isHandedOver = typeof path === "string" && /^\/dev\/fd\/\d+$/.test(path);
  if (!info.isFile && !isHandedOver) return { refused: `it is ${kindOf(info)}: expected a regular file` };
  return info.size > mostBytes ? { refused: tooLarge(mostBytes) } : undefined;
}

/** Reads a regular file of at most `mostBytes` bytes; returns a refusal for any other file. Follows links. */
export async function readRegular(
  path: string | URL,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | FileRefusal> {
  const refusal = refusalOf(path, await Deno.stat(path), mostBytes);
  if (refusal !== undefined) return refusal;
  using file = await Deno.open(path);
  return await readAtMost(file, mostBytes);
}

/** Reads an open file to its end; returns a refusal if it has more than `mostBytes` bytes. */
export async function readAtMost(
  file: Deno.FsFile,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | FileRefusal> {
  // A file may grow while it is read, and some files report the size 0 and have no end.
  let bytes = new Uint8Array((await file.stat()).size + 1);
  let size = 0;
  for (;;) {
    const count = await file.read(bytes.subarray(size));
    if (count === null) return bytes.slice(0, size);
    size += count;
    if (size > mostBytes) return { refused: tooLarge(mostBytes) };
    if (size < bytes.length) continue;
    const larger = new Uint8Array(bytes.length * 2);
    larger.set(bytes);
    bytes = larger;
  }
}

/**
 * Opens a file for reading. Follows links.
 *
 * @throws {TypeError} When it is neither a regular file nor a folder.
 */
export function openRegularSync(path: string): Deno.FsFile {
  needRegular(path, Deno.statSync(path));
  return Deno.openSync(path);
}

/**
 * Reads the text of a file. Follows links.
 *
 * @throws {TypeError} When it is neither a regular file nor a folder, or is larger than 64 MiB. For a folder, throws
 * the system's own error.
 */
export function readRegularTextSync(path: string): string {
  needRegular(path, Deno.statSync(path), 64 * 1024 * 1024);
  return Deno.readTextFileSync(path);
}

/**
 * Checks that a path is a regular file and not too large. Accepts a folder, because the system's own error for
 * reading it is clear.
 *
 * @throws {TypeError} When it is neither a regular file nor a folder, or is larger than the limit.
 */
export function needRegular(path: string, info: Deno.FileInfo, mostBytes?: number): void {
  if (info.isDirectory) return;
  const refusal = refusalOf(path, info, mostBytes);
  if (refusal !== undefined) throw unreadable(path, refusal);
}

/** Returns the error for a file that is not read. */
export function unreadable(path: string, { refused }: FileRefusal): TypeError {
  return new TypeError(`Cannot read "${path}": ${refused}`);
}

/** Returns the reason for a file that is too large. */
export function tooLarge(mostBytes: number): string {
  return `the file is larger than the limit of ${mostBytes / 1024} KiB`;
}

function kindOf(info: Deno.FileInfo): string {
  if (info.isDirectory) return "a folder";
  if (info.isFifo) return "a named pipe";
  if (info.isSocket) return "a socket";
  return info.isCharDevice || info.isBlockDevice ? "a device" : "a file of another kind";
}
