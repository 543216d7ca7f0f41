import { assert, assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../lib/errors.ts";
import { encodeFrame, encodeHeader, type Frame, FrameDecoder, headerFault } from "../../lib/wire/framing.ts";
import { randomFrom } from "../../lib/time.ts";
import { joined, vectors } from "./vectors.ts";

/** Returns a copy of a frame. The decoder's own views are only valid until the next frame. */
const copy = ({ type, serial, body }: Frame) => ({ type, serial, body: new Uint8Array(body) });

const kinds: Record<string, string> = {
  notify: "push",
  request: "request",
  response: "response",
  heartbeat: "heartbeat",
};
const expected = vectors.map(({ kind, serial, frame }) => ({
  type: kinds[kind],
  serial,
  body: frame.slice(151),
}));

function feed(decoder: FrameDecoder, chunks: Iterable<Uint8Array>) {
  const frames = [];
  for (const chunk of chunks) for (const frame of decoder.frames(chunk)) frames.push(copy(frame));
  return frames;
}

function* pieces(bytes: Uint8Array, size: () => number) {
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(bytes.length, at + size());
    yield bytes.subarray(at, end);
    at = end;
  }
}

Deno.test("FrameDecoder finds the 83 vendor frames in one read", () => {
  const decoder = new FrameDecoder();
  assertEquals(feed(decoder, [joined]), expected);
  assertEquals(decoder.pending, 0);
});

Deno.test("FrameDecoder finds the 83 vendor frames in reads of one byte", () => {
  assertEquals(feed(new FrameDecoder({ bufferLength: 200 }), pieces(joined, () => 1)), expected);
});

Deno.test("FrameDecoder finds the same frames when the stream is cut at any byte", () => {
  // Each frame is cut at every offset, with only the next frame behind it. Frames before the cut frame change
  // nothing.
  vectors.forEach(({ frame }, index) => {
    const next = vectors[(index + 1) % vectors.length]!.frame;
    const bytes = new Uint8Array(frame.length + next.length);
    bytes.set(frame);
    bytes.set(next, frame.length);
    const both = [expected[index], expected[(index + 1) % vectors.length]];
    for (let cut = 0; cut <= frame.length; cut++) {
      const decoder = new FrameDecoder({ bufferLength: 512 });
      const found = [...feed(decoder, [bytes.subarray(0, cut)])];
      if (cut < frame.length) assertEquals(found.length, 0);
      found.push(...feed(decoder, [bytes.subarray(cut)]));
      // A plain comparison first, because `assertEquals` would take minutes for all cuts.
      const same = found.length === 2 &&
        found.every(({ type, serial, body }, which) =>
          type === both[which]!.type && serial === both[which]!.serial &&
          body.length === both[which]!.body.length &&
          body.every((byte, at) => byte === both[which]!.body[at])
        );
      if (!same) assertEquals(found, both, `cut at ${cut} of frame ${index}`);
    }
  });
});

Deno.test("FrameDecoder finds the same frames however the stream is split at random", () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = randomFrom(seed);
  for (let round = 0; round < 40; round++) {
    const largest = 1 + Math.floor(random() * 4000);
    const size = () => 1 + Math.floor(random() * largest);
    const decoder = new FrameDecoder({ bufferLength: 151 + Math.floor(random() * 1000) });
    assertEquals(feed(decoder, pieces(joined, size)), expected, `seed ${seed}, round ${round}`);
  }
});

Deno.test("FrameDecoder reads into its own buffer without copying the frames", () => {
  const decoder = new FrameDecoder();
  const room = decoder.room();
  assertEquals(room.length, 262_144);
  room.set(vectors[0]!.frame);
  decoder.filled(vectors[0]!.frame.length);
  const frame = decoder.next();
  assert(frame !== undefined);
  assertEquals(frame.body.buffer, room.buffer);
  assertEquals(frame.header.bodyLength, frame.body.length);
  assertEquals(decoder.next(), undefined);
  assertThrows(() => decoder.filled(300_000), RangeError);
});

Deno.test("FrameDecoder reads frames that cross the end of its buffer", () => {
  const decoder = new FrameDecoder({ bufferLength: 20_000 });
  const frames = [];
  for (let at = 0; at < joined.length;) {
    const room = decoder.room();
    const count = Math.min(room.length, joined.length - at, 9_999);
    room.set(joined.subarray(at, at + count));
    decoder.filled(count);
    at += count;
    for (let frame; (frame = decoder.next()) !== undefined;) frames.push(copy(frame));
  }
  assertEquals(frames, expected);
  assert(decoder.capacity <= 40_000, `capacity ${decoder.capacity}`);
});

Deno.test("FrameDecoder grows with the bytes received, not with the length in the header, and shrinks again", () => {
  const decoder = new FrameDecoder({ bufferLength: 1024 });
  const body = new Uint8Array(3_000_000).fill(7);
  const frame = encodeFrame({ type: "push" }, body);
  decoder.write(frame.subarray(0, 500));
  assertEquals(decoder.next(), undefined);
  assertEquals(decoder.capacity, 1024);
  for (const chunk of pieces(frame.subarray(500), () => 65_536)) decoder.write(chunk);
  assertEquals(decoder.next()?.body.length, 3_000_000);
  assert(decoder.capacity < 8_500_000);
  decoder.write(new Uint8Array(0));
  assertEquals(decoder.capacity, 1024);
});

Deno.test("FrameDecoder rejects more bytes while whole frames are not read", () => {
  const decoder = new FrameDecoder({ maxBodyLength: 1000, bufferLength: 1024 });
  const frame = encodeFrame({ type: "push" }, new Uint8Array(1000));
  assertThrows(
    () => {
      for (let count = 0; count < 100; count++) decoder.write(frame);
    },
    RangeError,
    "read the frames first",
  );
  assert(decoder.capacity < 20_000);
});

Deno.test("FrameDecoder rejects more bytes while a frame of the maximum length waits", () => {
  const frame = encodeFrame({ type: "push" }, new Uint8Array(1000));
  const decoder = new FrameDecoder({ maxBodyLength: 1000, bufferLength: frame.length });
  decoder.write(frame);
  assertThrows(() => decoder.write(new Uint8Array([0x48])), RangeError, "read the frames first");
  assertThrows(() => decoder.room(), RangeError, "read the frames first");
  assertEquals([decoder.capacity, decoder.next()?.body.length], [frame.length, 1000]);
  decoder.write(new Uint8Array([0x48]));
});

Deno.test("FrameDecoder keeps one buffer, and doubles it only as far as a frame needs", () => {
  const beat = encodeFrame({ type: "heartbeat" });
  const decoder = new FrameDecoder({ bufferLength: 300 });
  const buffers = new Set<ArrayBufferLike>();
  for (let round = 0; round < 3; round++) {
    for (const { body } of decoder.frames(beat)) buffers.add(body.buffer);
  }
  assertEquals(buffers.size, 1);
  const frame = encodeFrame({ type: "push" }, new Uint8Array(1000));
  decoder.write(frame.subarray(0, 300));
  assertEquals([decoder.next(), decoder.capacity], [undefined, 300]);
  decoder.write(frame.subarray(300, 301));
  assertEquals([decoder.next(), decoder.capacity], [undefined, 600]);
  decoder.write(frame.subarray(301));
  assertEquals(decoder.next()?.body.length, 1000);
  decoder.write(frame.subarray(0, 300));
  assertEquals(decoder.capacity, 300);
  const most = new FrameDecoder({ maxBodyLength: 30_000, bufferLength: 25_000 });
  most.write(encodeFrame({ type: "push" }, new Uint8Array(30_000)).subarray(0, 25_001));
  assert(most.capacity < 50_000, `capacity ${most.capacity}`);
});

Deno.test("FrameDecoder returns the frames before a wrong header, and then throws the same typed error each time", () => {
  const decoder = new FrameDecoder();
  decoder.write(vectors[0]!.frame);
  decoder.write(new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n"));
  assertEquals(decoder.next()?.body.length, vectors[0]!.frame.length - 151);
  const first = assertThrows(() => decoder.next(), ProtocolError, '48 54 instead of "HS"');
  assertEquals(first.code, "frame-flag");
  decoder.write(vectors[1]!.frame);
  assertThrows(() => decoder.next(), ProtocolError, '48 54 instead of "HS"');
});

Deno.test("FrameDecoder rejects a wrong stream at its first wrong byte", () => {
  const decoder = new FrameDecoder();
  decoder.write(new Uint8Array([0x58]));
  assertThrows(() => decoder.next(), ProtocolError);
});

Deno.test("headerFault() finds each wrong field when its last byte has arrived, and not before", () => {
  const wrong: readonly [bytes: Record<number, number>, have: number, fault: string][] = [
    [{ 0: 0x58 }, 1, "frame-flag"],
    [{ 1: 0x58 }, 2, "frame-flag"],
    [{ 3: 0xff }, 4, "frame-type"],
    [{ 4: 0xff }, 5, "frame-format"],
    [{ 5: 0xff }, 6, "frame-version"],
    [{ 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff }, 14, "frame-too-large"],
    [{ 142: 0xff }, 143, "frame-compression"],
  ];
  for (const [bytes, have, fault] of wrong) {
    const header = Object.assign(encodeHeader({ type: "push", bodyLength: 1 }), bytes);
    const faults = [have - 1, have].map((each) => headerFault(header, 0, each, {}));
    assertEquals(faults, [undefined, fault]);
  }
});

Deno.test("FrameDecoder rejects a huge body before it arrives, without allocating memory", () => {
  const header = encodeHeader({ type: "push", bodyLength: 0xffff_ffff });
  const decoder = new FrameDecoder();
  decoder.write(header);
  const error = assertThrows(() => decoder.next(), ProtocolError);
  assertEquals(error.code, "frame-too-large");
  assertEquals(decoder.capacity, 262_144);
});

Deno.test("FrameDecoder skips garbage if configured, and reports how much", () => {
  const passed: [number, string | undefined][] = [];
  const decoder = new FrameDecoder({
    resynchronise: true,
    onPassedOver: (bytes, fault) => passed.push([bytes, fault.code]),
  });
  // A header needs more than "HS": here type 257 follows, which does not exist.
  const garbage = new Uint8Array([1, 2, 0x48, 0x48, 0x53, 1, 1, 0x48, 9, 9]);
  const stream = new Uint8Array(joined.length + 2 * garbage.length);
  const half = vectors[0]!.frame.length;
  stream.set(joined.subarray(0, half));
  stream.set(garbage, half);
  stream.set(joined.subarray(half), half + garbage.length);
  stream.set(garbage, half + garbage.length + joined.length - half);
  assertEquals(feed(decoder, pieces(stream, () => 7)), expected);
  assertEquals(passed, [[10, "frame-flag"]]);
  assertEquals(decoder.passedOver, 20);
});

Deno.test("FrameDecoder uses constant memory for endless garbage", () => {
  const decoder = new FrameDecoder({ resynchronise: true, bufferLength: 4096 });
  const garbage = new Uint8Array(4096).fill(0x48);
  for (let round = 0; round < 200; round++) assertEquals([...decoder.frames(garbage)].length, 0);
  assertEquals(decoder.passedOver, 200 * 4096 - 1);
  assert(decoder.capacity <= 16_384);
});

Deno.test("encodeFrame() writes header and body with the body's length", () => {
  const bytes = encodeFrame({ type: "push", serial: 7, reserved: 1n }, new Uint8Array([1, 2, 3]));
  assertEquals(bytes.length, 154);
  assertEquals([...bytes.subarray(0, 14)], [0x48, 0x53, 3, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0, 0]);
  assertEquals([...bytes.subarray(142)], [0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
});
