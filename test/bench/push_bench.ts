/**
 * From bytes to typed events against bare splitting and protobuf decoding of the same bytes: from memory, and from
 * a real loopback socket through the whole stream with its queue. The receiver runs on one core.
 *
 * @module
 */
import { openPushStream } from "../../lib/transports/push.ts";
import { createPushReader } from "../../lib/transports/push_reader.ts";
import { loadEnvelopes } from "../../lib/wire/envelope.ts";
import { FrameDecoder } from "../../lib/wire/framing.ts";
import { inTurns, report, rounded } from "./harness.ts";
import { quoteFrames, startSender } from "./push_frames.ts";

const FRAMES = 600;
const WANTED = 60_000;
const TARGET = "at least 0.5 of the floor and 300000 frames/s";

const bytes = await quoteFrames(FRAMES);
const envelopes = await loadEnvelopes();
const readNotify = envelopes.messages.reader("PBNotify");
const readQuote = envelopes.messages.reader("BasicQotNotify");

/** What nobody can do without: both protobuf messages of a frame. */
function bareDecode(body: Uint8Array): unknown {
  const { payload } = readNotify(body);
  // The benchmark's own frames all carry an Any.
  return readQuote((payload as { value: Uint8Array }).value);
}

/** Runs the bytes through a decoder until enough frames have been handled. */
function fromMemory(handle: (body: Uint8Array) => unknown): void {
  const decoder = new FrameDecoder();
  for (let count = 0; count < WANTED; count += FRAMES) {
    decoder.write(bytes);
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
      if (handle(frame.body) === undefined) throw new Error("a frame gave nothing");
    }
  }
}

const read = createPushReader(envelopes);
const memory = await inTurns({
  floor: () => Promise.resolve(fromMemory(bareDecode)),
  ours: () =>
    Promise.resolve(fromMemory((body) => {
      const event = read(body);
      if (event.type !== "quote") throw new Error(`a frame gave "${event.type}"`);
      return event;
    })),
}, { warmup: 5, rounds: 15 });
reportRates("push/memory", memory);

const sender = await startSender(bytes);
const address = { hostname: "127.0.0.1", port: sender.port };

async function bareSocket(): Promise<void> {
  using connection = await Deno.connect(address);
  const decoder = new FrameDecoder();
  for (let count = 0; count < WANTED;) {
    const length = await connection.read(decoder.room());
    if (length === null) throw new Error("the sender closed");
    decoder.filled(length);
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next(), count++) {
      bareDecode(frame.body);
    }
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

reportRates("push/socket", await inTurns({ floor: bareSocket, ours: stream }, { warmup: 5, rounds: 15 }));
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
