import { assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../lib/errors.ts";
import {
  encodeHeader,
  FrameDecoder,
  HEADER_LENGTH,
  type HeaderInit,
  type HeaderLimits,
  readHeader,
} from "../../lib/wire/framing.ts";
import { vectors } from "./vectors.ts";

Deno.test("readHeader() reads every field at its documented offset", () => {
  const bytes = new Uint8Array(HEADER_LENGTH);
  bytes.set([0x48, 0x53, 3, 0, 0, 0, 0x04, 0x03, 0x02, 0x81, 0x10, 0x27, 0, 0]);
  for (let index = 0; index < 128; index++) bytes[14 + index] = index + 1;
  bytes.set([0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 142);
  assertEquals(readHeader(bytes, 0), {
    type: "push",
    format: 0,
    version: 0,
    serial: 2_164_392_708,
    bodyLength: 10_000,
    signature: Uint8Array.from({ length: 128 }, (_, index) => index + 1),
    compression: 0,
    reserved: -2n,
  });
});

Deno.test("encodeHeader() restores the decoded header of every vendor frame, byte for byte", () => {
  assertEquals(vectors.length, 83);
  const kinds: Record<string, string> = {
    notify: "push",
    request: "request",
    response: "response",
    heartbeat: "heartbeat",
  };
  for (const { frame, kind, serial } of vectors) {
    const header = readHeader(frame, 0);
    assertEquals(header.type, kinds[kind]);
    assertEquals(header.serial, serial);
    assertEquals(header.bodyLength, frame.length - 151);
    assertEquals(encodeHeader(header), frame.slice(0, 151));
  }
});

Deno.test("encodeHeader() writes zero for absent fields", () => {
  const bytes = encodeHeader({ type: "heartbeat" });
  assertEquals(bytes.length, 151);
  assertEquals([...bytes.subarray(0, 2)], [0x48, 0x53]);
  assertEquals(bytes.subarray(2).every((byte) => byte === 0), true);
});

const damages: [code: string, at: number, bytes: number[]][] = [
  ["frame-flag", 0, [0x49]],
  ["frame-flag", 1, [0x54]],
  ["frame-type", 2, [4]],
  ["frame-type", 2, [0xff, 0xff]],
  ["frame-type", 3, [1]],
  ["frame-format", 4, [1]],
  ["frame-version", 5, [1]],
  ["frame-too-large", 10, [0xff, 0xff, 0xff, 0xff]],
  ["frame-too-large", 10, [1, 0, 0x80, 0]],
  ["frame-compression", 142, [1]],
];

for (const [code, at, bytes] of damages) {
  Deno.test(`FrameDecoder rejects a header with ${bytes.join(" ")} at byte ${at} as ${code}`, () => {
    const header = encodeHeader({ type: "push", bodyLength: 5 });
    header.set(bytes, at);
    const error = assertThrows(
      () => [...new FrameDecoder().frames(header)],
      ProtocolError,
      "Cannot read frame: ",
    );
    assertEquals(error.code, code);
  });
}

Deno.test("FrameDecoder accepts bodies up to 8 MiB or the given limit, and only the given protocol versions", () => {
  const header = encodeHeader({ type: "push", version: 2, bodyLength: 8 * 1024 * 1024 });
  const read = (limits: HeaderLimits) => [...new FrameDecoder(limits).frames(header)];
  assertThrows(() => read({}), ProtocolError, "the protocol version 2 is unknown");
  assertEquals(read({ versions: [0, 2] }), []); // it waits for the body
  assertThrows(
    () => read({ versions: [2], maxBodyLength: 8_388_607 }),
    ProtocolError,
    "a body of 8388608 bytes is longer than the allowed 8388607",
  );
});

Deno.test("encodeHeader() rejects values that do not fit their fields", () => {
  const wrong: Partial<HeaderInit>[] = [
    { serial: -1 },
    { serial: 4_294_967_296 },
    { bodyLength: 1.5 },
    { version: 256 },
    { signature: new Uint8Array(127) },
  ];
  for (const each of wrong) assertThrows(() => encodeHeader({ type: "push", ...each }), RangeError);
  assertEquals(readHeader(encodeHeader({ type: "push", serial: 4_294_967_295 }), 0).serial, 4_294_967_295);
});
