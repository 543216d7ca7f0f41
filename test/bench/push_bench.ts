/**
 * Compares two speeds: decoding pushes into typed events, and bare protobuf decoding of the same bytes. Measures both
 * from memory, and from a real loopback socket through the whole stream with its queue. The receiver runs on one core.
 *
 * @module
 */
import { openPushStream } from "../../lib/transports/push/stream.ts";
import { createPushReader } from "../../lib/transports/push/reader.ts";
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import { FrameDecoder } from "../../lib/wire/framing.ts";
import { bareQuoteReader, splitByHand } from "./bare_quotes.ts";
import { inTurns, report, rounded } from "./harness.ts";
import { DISTINCT, quoteFrames, startSender } from "./push_frames.ts";

const FRAMES = DISTINCT;
const WANTED = 2 * FRAMES;
/** Size of the pieces that the decoder gets, bytes. The buffer of the socket below has the same size. */
const PIECE = 256 * 1024;
const TARGET = "at least 0.5 of the floor and 300000 frames/s";

const bytes = await quoteFrames(FRAMES);
const envelopes = await loadEnvelopes();
const readBare = bareQuoteReader();

/** Decodes the bytes without the toolkit until enough frames are decoded. */
function bareMemory(): void {
  const view = new DataView(bytes.buffer);
  let count = 0;
  while (count < WANTED) {
    splitByHand(view, { from: 0, to: bytes.length }, (_header, body, end) => {
      if (readBare(bytes.subarray(body, end)) === undefined) throw new Error("a frame could not be read");
      count++;
    });
  }
}

/** Decodes the bytes with the toolkit until enough frames have become events. */
function oursMemory(): void {
  const decoder = new FrameDecoder();
  for (let count = 0; count < WANTED; count += FRAMES) {
    for (let at = 0; at < bytes.length; at += PIECE) {
      decoder.write(bytes.subarray(at, at + PIECE));
      for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
        const event = read(envelopes.decodeNotify(frame.body));
        if (event.type !== "quote") throw new Error(`a frame gave "${event.type}"`);
      }
    }
  }
}

const read = createPushReader(envelopes);
const memory = await inTurns({
  floor: () => Promise.resolve(bareMemory()),
  ours: () => Promise.resolve(oursMemory()),
}, { warmup: 2, rounds: 9 });
reportRates("push/memory", memory);

const sender = await startSender(bytes);
const address = { hostname: "127.0.0.1", port: sender.port };

async function bareSocket(): Promise<void> {
  using connection = await Deno.connect(address);
  const buffer = new Uint8Array(256 * 1024);
  const view = new DataView(buffer.buffer);
  for (let count = 0, kept = 0; count < WANTED;) {
    const length = await connection.read(buffer.subarray(kept));
    if (length === null) throw new Error("the sender closed");
    const to = kept + length;
    const rest = splitByHand(view, { from: 0, to }, (_header, body, end) => {
      readBare(buffer.subarray(body, end));
      count++;
    });
    buffer.copyWithin(0, rest, to);
    kept = to - rest;
  }
}

async function stream(): Promise<void> {
  await using push = openPushStream({ ...address, now: Date.now, random: Math.random, reconnect: false });
  let count = 0;
  for await (const event of push.events()) {
    if (event.type === "conflated" || event.type === "dropped") throw new Error(`"${event.type}"`);
    if (event.type === "quote" && ++count >= WANTED) break;
  }
}

reportRates("push/socket", await inTurns({ floor: bareSocket, ours: stream }, { warmup: 2, rounds: 9 }));
sender.stop();

function reportRates(name: string, times: { floor: number; ours: number }): void {
  const [floor, ours] = [WANTED / times.floor * 1000, WANTED / times.ours * 1000];
  const ok = ours / floor >= 0.5 && ours >= 300_000;
  const figure = { floor: rounded(floor), ours: rounded(ours), ratio: rounded(ours / floor) };
  report({
    name,
    unit: "frames/s, median",
    ...figure,
    target: TARGET,
    ok,
    frameBytes: bytes.length / FRAMES,
  });
}
