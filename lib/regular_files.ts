/**
 * Opens and reads regular files only. Opening a named pipe waits for another process, and reading a device may never end.
 * Anybody may leave either in a folder.
 *
 * @module
 */

/** Why a file is not read. */
interface FileRefusal {
  refused: string;
}

/**
 * Returns why this is not a regular file of at most `mostBytes` bytes; `undefined` if it is. The pipe that a
 * shell makes for `<(command)`, such as `/dev/fd/63`, was named by the person and is read too.
 */
function refusalOf(path: string | URL, info: Deno.FileInfo, mostBytes = Infinity): FileRefusal | undefined {
  const isHandedOver = typeof path === "string" && /^\/dev\/fd\/\d+$/.test(path);
  if (!info.isFile && !isHandedOver) return { refused: `it is ${kindOf(info)}: expected a regular file` };
  return info.size > mostBytes ? { refused: tooLarge(mostBytes) } : undefined;
}

/** Reads a regular file of at most `mostBytes` bytes. Follows links. */
export async function readRegular(
  path: string | URL,
  mostBytes: number,
): Promise<Uint8Array<ArrayBuffer> | FileRefusal> {
  const refusal = refusalOf(path, await Deno.stat(path), mostBytes);
  if (refusal !== undefined) return refusal;
  using file = await Deno.open(path);
  return await readAtMost(file, mostBytes);
}

/** Reads an open file to its end, but at most `mostBytes` bytes. */
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
 * @throws {TypeError} When it is not a regular file.
 */
export function openRegularSync(path: string): Deno.FsFile {
  needRegular(path, Deno.statSync(path));
  return Deno.openSync(path);
}

/**
 * Reads the text of a file. Follows links.
 *
 * @throws {TypeError} When it is not a regular file, or is larger than 64 MiB.
 */
export function readRegularTextSync(path: string): string {
  needRegular(path, Deno.statSync(path), 64 * 1024 * 1024);
  return Deno.readTextFileSync(path);
}

/**
 * Checks what is to be read. Lets a folder pass, because the system's own error about it is clear.
 *
 * @throws {TypeError} When it is not a regular file, or is larger than the limit.
 */
export function needRegular(path: string, info: Deno.FileInfo, mostBytes?: number): void {
  if (info.isDirectory) return;
  const refusal = refusalOf(path, info, mostBytes);
  if (refusal !== undefined) throw unreadable(path, refusal);
}

/** Makes the error for a file that is not read. */
export function unreadable(path: string, { refused }: FileRefusal): TypeError {
  return new TypeError(`Cannot read "${path}": ${refused}`);
}

/** Says that a file is larger than it may be. */
export function tooLarge(mostBytes: number): string {
  return `the file is larger than ${mostBytes / 1024} KiB, which is the most`;
}

function kindOf(info: Deno.FileInfo): string {
  if (info.isDirectory) return "a folder";
  if (info.isFifo) return "a named pipe";
  if (info.isSocket) return "a socket";
  return info.isCharDevice || info.isBlockDevice ? "a device" : "no file";
}
