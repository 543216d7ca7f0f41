/**
 * Runs damaged frames through the frame decoder, the decryption and the protobuf reader. Each damage may cause only a
 * typed error, and `Sealing` must not return an unverified body.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { FrameType } from "../../lib/dictionaries/header.ts";
import { ProtocolError } from "../../lib/errors.ts";
import { encryptSegments, SessionCipher } from "../../lib/wire/cipher.ts";
import { type Envelopes, loadEnvelopes } from "../../lib/wire/messages.ts";
import type { WireFault } from "../../lib/wire/faults.ts";
import { encodeFrame, type Frame, FrameDecoder } from "../../lib/wire/framing.ts";
import { inspectFrames } from "../../lib/wire/inspect.ts";
import { readPrivateKey, readPublicKey } from "../../lib/wire/keys.ts";
import { pad } from "../../lib/wire/padding.ts";
import { Sealing } from "../../lib/wire/sealing.ts";
import { randomFrom } from "../../lib/time.ts";
import { bytesOf, vectors, wireKeys } from "./vectors.ts";

/** All faults of the wire. The type requires an entry for each. */
export const wireFaults: Readonly<Record<WireFault, true>> = {
  "frame-flag": true,
  "frame-type": true,
  "frame-format": true,
  "frame-version": true,
  "frame-compression": true,
  "frame-too-large": true,
  "frame-short": true,
  "signature-missing": true,
  "signature-bad": true,
  "cipher-key": true,
  "cipher-segment": true,
  "cipher-block": true,
  "cipher-padding": true,
  "message-damaged": true,
  "message-unknown": true,
  "message-field": true,
  "answer-unasked": true,
};

/** Options of a run. */
export interface FuzzOptions {
  seed: number;
  /** Number of damaged frames. */
  frames: number;
  /** Called about a hundred times, with the number of frames that are done. */
  onProgress?: (done: number) => void;
}

/** Result of a run. */
export interface FuzzReport {
  seed: number;
  frames: number;
  /** Number of frames that the decoder returned, damaged or not. */
  decoded: number;
  /** Number of frames that the strict side accepted. Each body was empty or exactly as the vendor signed it. */
  verified: number;
  /** Number of decoded envelopes that have a payload. Counts only the side that allows unsigned bodies. */
  read: number;
  /** Number of typed errors by code. */
  refused: Record<string, number>;
  /** Longest time that one frame took, in milliseconds. */
  slowestMs: number;
  /**
   * Growth of the memory in bytes: the smallest value of the last third of the run, minus the smallest value of the
   * second third.
   */
  growth: number;
}

const MAX_BODY_LENGTH = 64 * 1024;
const known = new Set(vectors.map(({ plainBody }) => textOf(plainBody)));
const messageNames = [...new Set(vectors.flatMap(({ message }) => message === null ? [] : [message]))];

/** Returns bytes as a text, which a set can compare. */
function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

/**
 * Runs damaged frames through everything that reads them.
 *
 * @throws {Error} If a frame causes anything but a typed error, or if `Sealing` returns an unverified body. The
 * message names the seed and the frame, so that a developer can repeat the run.
 */
export async function fuzz({ seed, frames, onProgress }: FuzzOptions): Promise<FuzzReport> {
  using fuzzer = new Fuzzer(seed, await loadEnvelopes());
  const memory: number[] = [];
  const step = Math.max(1, Math.floor(frames / 100));
  for (let index = 0; index < frames; index++) {
    fuzzer.run(index);
    if ((index + 1) % step !== 0) continue;
    memory.push(Deno.memoryUsage().heapUsed + Deno.memoryUsage().external);
    onProgress?.(index + 1);
  }
  const third = Math.floor(memory.length / 3);
  // The smallest value is the memory after a garbage collection.
  const least = (from: number, to: number) => Math.min(...memory.slice(from, to));
  const growth = least(-third, memory.length) - least(third, memory.length - third);
  return { seed, frames, growth, ...fuzzer.counts };
}

class Fuzzer implements Disposable {
  readonly #seed: number;
  readonly #random: () => number;
  readonly #envelopes: Envelopes;
  readonly #strict = { client: side("client"), server: side("server") };
  readonly #lax = { client: side("client", true), server: side("server", true) };
  readonly #cipher = new SessionCipher(bytesOf(wireKeys.aesKeyBase64));
  #decoder = this.#newDecoder();
  readonly counts = { decoded: 0, verified: 0, read: 0, refused: {} as Record<string, number>, slowestMs: 0 };

  constructor(seed: number, envelopes: Envelopes) {
    this.#seed = seed;
    this.#random = randomFrom(seed);
    this.#envelopes = envelopes;
  }

  run(index: number): void {
    // After a damaged length, the decoder reads the next frames as part of a body. A new decoder ends that.
    if (index % 200 === 0) this.#decoder = this.#newDecoder();
    const bytes = this.#damagedFrame();
    const start = performance.now();
    try {
      this.#decode(bytes);
      if (index % 50 === 0) this.#inspect(bytes);
    } catch (cause) {
      throw new Error(`frame ${index} of seed ${this.#seed}: ${textOfError(cause)}\n${bytes.toBase64()}`, {
        cause,
      });
    }
    const took = performance.now() - start;
    if (took > this.counts.slowestMs) this.counts.slowestMs = took;
  }

  [Symbol.dispose](): void {
    for (const { client, server } of [this.#strict, this.#lax]) {
      client[Symbol.dispose]();
      server[Symbol.dispose]();
    }
    this.#cipher[Symbol.dispose]();
  }

  /**
   * Decodes the bytes in one or two pieces. One time in five, also decodes them with a second decoder that does not
   * resynchronise and has a small buffer.
   */
  #decode(bytes: Uint8Array): void {
    const cut = this.#random() < 0.5 ? bytes.length : this.#below(bytes.length + 1);
    for (const chunk of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      for (const frame of this.#decoder.frames(chunk)) this.#open(frame);
    }
    if (this.#random() < 0.2) {
      this.#refusing(() => {
        for (const frame of new FrameDecoder({ bufferLength: 1024 }).frames(bytes)) this.#open(frame);
      });
    }
  }

  #open(frame: Frame): void {
    this.counts.decoded++;
    const end = frame.type === "request" ? "server" : "client";
    this.#refusing(() => {
      const { body, signature } = this.#strict[end].open(frame);
      if (signature === "ok" ? !known.has(textOf(body)) : body.length > 0) {
        throw new Error("an unverified body came through");
      }
      this.counts.verified++;
    });
    this.#refusing(() => this.#read(frame.type, this.#lax[end].open(frame).body));
  }

  #read(type: FrameType, body: Uint8Array): void {
    const { messages, decodeNotify, decodeRequest, decodeResponse } = this.#envelopes;
    const decode = type === "request" ? decodeRequest : type === "response" ? decodeResponse : decodeNotify;
    const { payload } = decode(body);
    if (payload === undefined) return;
    const other = messageNames[this.#below(messageNames.length)]!;
    this.#refusing(() => JSON.stringify(messages.decode(payload.name, payload.bytes)));
    // Decodes the bytes of one message under the name of another.
    this.#refusing(() => JSON.stringify(messages.decode(other, payload.bytes)));
    this.counts.read++;
  }

  #inspect(bytes: Uint8Array): void {
    let at = 0;
    const { messages } = this.#envelopes;
    for (
      const line of inspectFrames(bytes, {
        messages,
        aesKey: bytesOf(wireKeys.aesKeyBase64),
        ...keys("client"),
      })
    ) {
      if (line.offset !== at || line.length < 1) throw new Error(`a line at ${line.offset} instead of ${at}`);
      JSON.stringify(line);
      at += line.length;
    }
    if (at !== bytes.length) throw new Error(`lines end at ${at} of ${bytes.length}`);
  }

  /** Counts a typed error. Any other error is a bug, so it is thrown again. */
  #refusing(work: () => unknown): void {
    try {
      work();
    } catch (error) {
      const code = error instanceof ProtocolError ? error.code ?? "" : "";
      if (!Object.hasOwn(wireFaults, code)) throw error;
      this.counts.refused[code] = (this.counts.refused[code] ?? 0) + 1;
    }
  }

  #damagedFrame(): Uint8Array {
    const { frame, plainBody, kind, serial, encryption } = vectors[this.#below(vectors.length)]!;
    const choice = this.#random();
    if (choice < 0.05) return frame; // so that the strict side accepts some frames
    if (choice < 0.35) return this.#damaged(frame);
    if (choice < 0.4) return this.#header(frame);
    if (choice < 0.43) return Uint8Array.from({ length: this.#below(400) }, () => this.#below(256));
    // The frames below have no signature. The side that allows unsigned bodies returns their bodies, so the damage
    // reaches the protobuf reader.
    const type = kind === "notify" ? "push" : kind as FrameType; // the file of vectors calls a push "notify"
    const body = this.#damaged(plainBody);
    if (encryption === "none") return encodeFrame({ type, serial }, body);
    if (encryption === "rsa") {
      const segments = encryptSegments(body, readPublicKey(wireKeys.platformPublicKeySpkiBase64));
      return encodeFrame({ type, serial }, this.#random() < 0.5 ? segments : this.#damaged(segments));
    }
    const padded = this.#random() < 0.8 ? pad(body) : this.#wholeBlocks(body);
    const encrypted = this.#cipher.encrypt(padded);
    return encodeFrame({ type, serial }, this.#random() < 0.9 ? encrypted : this.#damaged(encrypted));
  }

  /** Returns the body in whole blocks. Its ending is perhaps not a valid padding. */
  #wholeBlocks(body: Uint8Array): Uint8Array {
    const blocks = pad(body);
    for (let at = body.length; at < blocks.length; at++) blocks[at] = this.#below(20);
    return blocks;
  }

  /**
   * Returns a copy with at most four changes: a changed bit, a piece that is overwritten, removed or repeated, or an
   * end that is cut off.
   */
  #damaged(source: Uint8Array): Uint8Array {
    let bytes = source.slice();
    for (let changes = 1 + this.#below(4); changes > 0; changes--) {
      const at = this.#below(bytes.length + 1);
      const end = Math.min(bytes.length, at + 1 + this.#below(this.#random() < 0.7 ? 8 : 200));
      const kind = this.#below(6);
      if (kind === 0 && at < bytes.length) bytes[at]! ^= 1 << this.#below(8);
      else if (kind === 1) bytes.fill(this.#random() < 0.5 ? 0xff : this.#below(256), at, end);
      else if (kind === 2) bytes = joined(bytes.subarray(0, at), bytes.subarray(end));
      else if (kind === 3) bytes = joined(bytes.subarray(0, end), bytes.subarray(at));
      else if (kind === 4) bytes.fill(0, at, end);
      else if (kind === 5 && this.#random() < 0.3) bytes = bytes.slice(0, at);
    }
    return bytes;
  }

  /** Returns a copy in which one field of the header has an extreme value. */
  #header(frame: Uint8Array): Uint8Array {
    const bytes = frame.slice();
    const view = new DataView(bytes.buffer);
    const edges = [0, 1, 2, 3, 4, 127, 128, 255, 256, 65_535, 65_536, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    const edge = edges[this.#below(edges.length)]!;
    const field = this.#below(5);
    if (field === 0) view.setUint16(2, edge, true);
    else if (field === 1) view.setUint32(6, edge, true);
    else if (field === 2) view.setUint32(10, edge, true);
    else if (field === 3) bytes[this.#random() < 0.5 ? 4 : 5] = edge;
    else bytes[142] = edge;
    return bytes;
  }

  #newDecoder(): FrameDecoder {
    return new FrameDecoder({ resynchronise: true, maxBodyLength: MAX_BODY_LENGTH, bufferLength: 4096 });
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

function keys(end: "client" | "server") {
  return end === "client"
    ? {
      privateKey: readPrivateKey(wireKeys.developerKeyPkcs8Base64),
      platformKey: readPublicKey(wireKeys.platformPublicKeySpkiBase64),
    }
    : {
      privateKey: readPrivateKey(wireKeys.platformKeyPkcs8Base64),
      platformKey: readPublicKey(wireKeys.developerPublicKeySpkiBase64),
    };
}

function side(end: "client" | "server", allowUnsigned: boolean = false): Sealing {
  const { privateKey, platformKey } = keys(end);
  const sealing = new Sealing({ privateKey, publicKey: platformKey, allowUnsigned });
  sealing.useSessionKey(bytesOf(wireKeys.aesKeyBase64));
  return sealing;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

function textOfError(cause: unknown): string {
  return cause instanceof Error ? cause.stack ?? cause.message : String(cause);
}
