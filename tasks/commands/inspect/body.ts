/**
 * Runs `hsgate inspect`.
 *
 * @module
 */
import { ProtocolError } from "../../../lib/errors.ts";
import { readRegular, unreadable } from "../../../lib/regular_files.ts";
import { readCaptured } from "../../../lib/wire/capture.ts";
import { readSessionKey } from "../../../lib/wire/cipher.ts";
import { inspectFrames } from "../../../lib/wire/inspect.ts";
import { readPrivateKey, readPublicKey } from "../../../lib/wire/keys.ts";
import { loadMessages } from "../../../lib/wire/messages.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import type { InspectInput } from "../inspect.ts";

/** Largest input, bytes. The command keeps the whole input in memory. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Prints one line for each frame. */
export async function run({ args, flags, host }: InspectInput): Promise<number> {
  const [file = "-"] = args;
  const { "aes-key": aesKey, "private-key": privateKey, "platform-key": platformKey } = flags;
  // Read the keys first: after a mistyped key, the bytes from stdin would be lost.
  const keys = {
    aesKey: aesKey === undefined ? undefined : sessionKeyOf(aesKey),
    privateKey: privateKey === undefined ? undefined : readPrivateKey(await textOf(privateKey, host)),
    platformKey: platformKey === undefined ? undefined : readPublicKey(await textOf(platformKey, host)),
  };
  const { bytes } = readCaptured(await bytesOf(file, host));
  let isClean = true;
  for (const line of inspectFrames(bytes, { messages: await loadMessages(), ...keys })) {
    host.signal.throwIfAborted();
    host.out(JSON.stringify(line));
    isClean &&= line.error === undefined && line.signature !== "bad";
  }
  return isClean ? 0 : 7;
}

function sessionKeyOf(text: string): Uint8Array {
  try {
    return readSessionKey(text);
  } catch (error) {
    if (error instanceof ProtocolError) {
      throw new UsageError("Cannot read --aes-key: it is not Base64 of 16 bytes");
    }
    throw error;
  }
}

async function textOf(path: string, host: Host): Promise<string> {
  const file = await host.readFile(path);
  if (file === undefined) throw new UsageError(`Cannot read "${path}": no such file`);
  return file.text;
}

/** Reads raw bytes, because the host's functions read only text. */
async function bytesOf(path: string, host: Host): Promise<Uint8Array> {
  if (path === "-") {
    if (host.canAsk) {
      throw new UsageError("Cannot read stdin: it is a terminal; give a file or pipe the bytes in");
    }
    return new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
  }
  try {
    const bytes = await readRegular(path, MOST_BYTES);
    if (bytes instanceof Uint8Array) return bytes;
    throw unreadable(path, bytes);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new UsageError(`Cannot read "${path}": no such file`);
    throw error;
  }
}
