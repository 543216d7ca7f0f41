import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { readCaptured } from "../../lib/wire/capture.ts";
import { encryptSegments } from "../../lib/wire/cipher.ts";
import { loadEnvelopes, loadMessages } from "../../lib/wire/messages.ts";
import { encodeFrame } from "../../lib/wire/framing.ts";
import { type InspectedFrame, inspectFrames, type InspectOptions } from "../../lib/wire/inspect.ts";
import { readPrivateKey, readPublicKey } from "../../lib/wire/keys.ts";
import { Sealing } from "../../lib/wire/sealing.ts";
import { bytesOf, joined, vectors, wireKeys } from "./vectors.ts";

const messages = await loadMessages();
const developer = readPrivateKey(wireKeys.developerKeyPkcs8Base64);
const platform = readPrivateKey(wireKeys.platformKeyPkcs8Base64);
const developerKey = readPublicKey(wireKeys.developerPublicKeySpkiBase64);
const platformKey = readPublicKey(wireKeys.platformPublicKeySpkiBase64);
const aesKey = bytesOf(wireKeys.aesKeyBase64);
const allKeys: InspectOptions = { messages, aesKey, privateKey: developer, platformKey };

const inspect = (bytes: Uint8Array, options: InspectOptions = allKeys) => [...inspectFrames(bytes, options)];
const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts));
const offsets: number[] = [];
vectors.reduce((at, { frame }) => (offsets.push(at), at + frame.length), 0);

Deno.test("inspectFrames() shows the header of every frame of the vendor, and all it contains if the keys can decrypt it", () => {
  const lines = inspect(joined);
  assertEquals(lines.length, 83);
  const kinds: Record<string, number> = { heartbeat: 0, request: 1, response: 2, notify: 3 };
  lines.forEach((line, index) => {
    const { kind, serial, frame, encryption, message, payload, outer } = vectors[index]!;
    assertEquals([line.offset, line.length], [offsets[index], frame.length]);
    assertEquals(
      [line.msgType, line.protoFmtType, line.protoVer, line.serialNo, line.bodyLen],
      [kinds[kind], 0, 0, serial, frame.length - 151],
    );
    assertEquals([line.compressAlgorithm, line.reserved, line.cipher], [0, "1", encryption]);
    if (encryption === "rsa") {
      // The first request is encrypted for the platform, so the client's key cannot decrypt it.
      assertEquals([line.error, line.signature], ["cipher-segment", "unchecked"]);
      return;
    }
    assertEquals([line.error, line.signature], [undefined, kind === "heartbeat" ? "none" : "ok"]);
    if (outer === null) return;
    const envelope = Object.fromEntries(
      Object.entries(outer).map(([name, value]) => [
        name,
        name === "token" ? "[secret]" : /Time$/.test(name) ? String(value) : value,
      ]),
    );
    assertEquals(line.envelope, envelope);
    assertEquals(line.payloadType ?? null, message);
    assertEquals(line.payload, payload ?? undefined);
  });
});

Deno.test("inspectFrames() names the message numbers", () => {
  const names = inspect(joined).map(({ kind, message }) => `${kind} ${message}`);
  for (
    const name of [
      "request TradeEntrust",
      "response TradeQueryMarginFundInfo",
      "push TradeStockDeliver",
      "push TickerNotify",
    ]
  ) assert(names.includes(name), name);
});

Deno.test("inspectFrames() shows no token and no private key", () => {
  const text = JSON.stringify(inspect(joined));
  const tokens = vectors.flatMap(({ outer }) => typeof outer?.token === "string" ? [outer.token] : []);
  assert(tokens.length > 0);
  const { developerKeyPkcs8Base64, platformKeyPkcs8Base64 } = wireKeys;
  for (const secret of [...tokens, developerKeyPkcs8Base64, platformKeyPkcs8Base64]) {
    assert(!text.includes(String(secret)));
  }
});

Deno.test("inspectFrames() does not decrypt or check parts for which it has no key", () => {
  const bare = inspect(joined, { messages });
  assertEquals(bare.length, 83);
  bare.forEach((line, index) => {
    const { encryption, kind } = vectors[index]!;
    assertEquals(line.signature, kind === "heartbeat" ? "none" : "unchecked");
    assertEquals(line.error, encryption === "none" ? undefined : "cipher-key");
    // The gateway's pushes are not encrypted, so no key is needed.
    if (kind === "notify" && encryption === "none") assert(line.payload !== undefined);
  });
  const states = inspect(joined, { messages, aesKey, platformKey }).map(({ signature }) => signature);
  assertEquals(states.filter((state) => state === "unchecked").length, 52);
  assertEquals(states.filter((state) => state === "ok").length, 30);
});

Deno.test("inspectFrames() reads the first request with the platform's private key, and reports no wrong signature", () => {
  for (const keys of [{ privateKey: platform }, { privateKey: platform, platformKey }]) {
    const first = vectors.find(({ encryption }) => encryption === "rsa")!;
    const [line] = inspect(first.frame, { messages, ...keys });
    assertEquals([line?.error, line?.signature, line?.payloadType], [
      undefined,
      "unchecked",
      "InitConnectReq",
    ]);
    assertEquals(line?.payload, first.payload ?? {});
  }
});

Deno.test("inspectFrames() reports no wrong signature of a request if both keys are the platform's", () => {
  const request = vectors.find(({ kind, encryption }) => kind === "request" && encryption === "aes")!;
  const [line] = inspect(request.frame, { messages, aesKey, privateKey: platform, platformKey });
  assertEquals([line?.signature, line?.payload], ["unchecked", request.payload]);
});

Deno.test("inspectFrames() uses the session key in the first answer", async () => {
  const { encodeResponse, encodeNotify } = await loadEnvelopes();
  using server = new Sealing({ privateKey: platform, publicKey: developerKey });
  const answer = {
    encryptedKey: Buffer.from(aesKey).toString("base64"),
    heartbeatIntervalSec: 30,
  };
  const body = encodeResponse({
    type: 0,
    id: "i",
    time: 1,
    code: "0000",
    text: "",
    payload: { name: "InitConnectResp", bytes: messages.encode("InitConnectResp", answer) },
  });
  const first = server.seal({ type: "response", serial: 0, body });
  server.useSessionKey(aesKey);
  const push = server.seal({
    type: "push",
    serial: 7,
    body: encodeNotify({
      type: 20004,
      id: "n",
      time: 2,
      payload: { name: "TickerNotify", bytes: new Uint8Array(0) },
    }),
  });
  const lines = inspect(join(first, push), { messages, privateKey: developer, platformKey });
  assertEquals(lines.map(({ signature, payload }) => [signature, payload]), [
    ["ok", { encryptedKey: wireKeys.aesKeyBase64, heartbeatIntervalSec: 30 }],
    ["ok", {}],
  ]);
});

Deno.test("inspectFrames() distinguishes a wrong signature from a missing one, and shows the content", () => {
  const pushed = vectors.find(({ kind, encryption }) => kind === "notify" && encryption === "none")!;
  const unsigned = pushed.frame.slice();
  unsigned.fill(0, 14, 142);
  const wrong = pushed.frame.slice();
  wrong[20]! ^= 1;
  const lines = inspect(join(unsigned, wrong, pushed.frame));
  assertEquals(lines.map(({ signature }) => signature), ["none", "bad", "ok"]);
  for (const line of lines) assertEquals([line.payload, line.error], [pushed.payload, undefined]);
});

Deno.test("inspectFrames() reads the gateway's unencrypted pushes also if their serial number is not 0", () => {
  for (const { plainBody, payload } of vectors.filter(({ kind }) => kind === "notify")) {
    const frame = encodeFrame({ type: "push", serial: 12 }, plainBody);
    for (const options of [allKeys, { messages }]) {
      const [line] = inspect(frame, options);
      assertEquals([line?.cipher, line?.signature, line?.payload], ["none", "none", payload]);
    }
  }
});

Deno.test("inspectFrames() continues after damaged bytes, with one line for each range and no gaps", () => {
  const [a, b, c] = [vectors[0]!.frame, vectors[1]!.frame, vectors[2]!.frame];
  const damaged = (at: number, ...values: number[]) => {
    const bytes = b.slice();
    bytes.set(values, at);
    return bytes;
  };
  const noise = new Uint8Array([1, 2, 0x48, 3, 0x48, 0x53, 9, 9]);
  const cases: [string, Uint8Array, string][] = [
    ["bytes that are not a frame", noise, "frame-flag"],
    ["a flag", damaged(0, 0x58), "frame-flag"],
    ["a type", damaged(2, 9), "frame-type"],
    ["a format", damaged(4, 9), "frame-format"],
    ["a version", damaged(5, 9), "frame-version"],
    ["a compression", damaged(142, 9), "frame-compression"],
    ["a negative length", damaged(10, 0, 0, 0, 0x80), "frame-too-large"],
    ["a length beyond the end", damaged(10, 0, 0, 0x10, 0), "frame-short"],
    ["a length into the next frame", damaged(10, b.length - 151 + 7), "frame-short"],
    // The decoder reads the next frame's bytes as the rest of the header.
    ["a header that is cut", b.subarray(0, 100), "frame-compression"],
    ["a body that is cut", b.subarray(0, b.length - 9), "frame-short"],
    ["a body that is cut to blocks", b.subarray(0, b.length - 16), "frame-short"],
  ];
  for (const [what, middle, error] of cases) {
    const lines = inspect(join(a, middle, c));
    assertEquals(lines.map(({ offset, length }) => [offset, length]), [
      [0, a.length],
      [a.length, middle.length],
      [a.length + middle.length, c.length],
    ], what);
    assertEquals(lines.map((line) => line.error), [undefined, error, undefined], what);
    assertEquals(lines[2]?.signature, "ok", what);
    assert(/^Cannot read frame: /.test(lines[1]?.reason ?? ""), what);
  }
});

Deno.test("inspectFrames() reads a frame with a valid signature even if no valid frame follows", () => {
  const a = vectors[0]!.frame;
  const lines = inspect(join(a, new Uint8Array([1, 2, 3]), a.subarray(0, 60)));
  assertEquals(lines.map(({ offset, length, error }) => [offset, length, error]), [
    [0, a.length, undefined],
    [a.length, 3, "frame-flag"],
    [a.length + 3, 60, "frame-short"],
  ]);
});

Deno.test("inspectFrames() does not split a frame that contains the bytes of another frame, or noise that ends like the start of a frame", () => {
  const [a, b] = [vectors[0]!.frame, vectors[1]!.frame];
  const outer = encodeFrame({ type: "push" }, a);
  assertEquals(inspect(join(outer, b)).map(({ length }) => length), [outer.length, b.length]);
  const noise = new Uint8Array([1, 2, 3, 0x48, 0x53]);
  assertEquals(inspect(join(a, noise)).map(({ length }) => length), [a.length, 5]);
});

Deno.test("inspectFrames() describes faults after a valid header", () => {
  const reasons = (line: InspectedFrame | undefined) => [line?.error, line?.signature, line?.kind];
  const odd = encodeFrame({ type: "response", serial: 3 }, new Uint8Array(17));
  assertEquals(reasons(inspect(odd)[0]), ["cipher-block", "none", "response"]);
  const foreign = encodeFrame({ type: "response" }, encryptSegments(new Uint8Array(5), platformKey));
  assertEquals(reasons(inspect(foreign)[0]), ["cipher-segment", "none", "response"]);
  const wrongKey = { ...allKeys, aesKey: new Uint8Array(16) };
  const [line] = inspect(vectors[0]!.frame, wrongKey);
  assert(line?.error === "cipher-padding" || line?.signature === "bad", JSON.stringify(line));
  const unknown = encodeFrame(
    { type: "push" },
    messages.encode("PBNotify", {
      notifyMsgType: 5,
      payload: { type_url: "x/Nothing", value: new Uint8Array(2) },
    }),
  );
  const [push] = inspect(unknown);
  assertEquals(reasons(push), ["message-unknown", "none", "push"]);
  assertEquals([push?.payloadType, push?.envelope], ["Nothing", { notifyMsgType: 5 }]);
  const damaged = encodeFrame({ type: "push" }, new Uint8Array([0x22, 0x7f, 1]));
  assertEquals(reasons(inspect(damaged)[0]), ["message-damaged", "none", "push"]);
});

Deno.test("inspectFrames() yields nothing for no bytes, and one line for noise", () => {
  assertEquals(inspect(new Uint8Array(0)), []);
  assertEquals(inspect(new TextEncoder().encode("HTTP/1.1 400 Bad Request")).map(({ error }) => error), [
    "frame-flag",
  ]);
  assertEquals(inspect(new Uint8Array([0x48])).map(({ error, length }) => [error, length]), [[
    "frame-short",
    1,
  ]]);
});

Deno.test("readCaptured() reads raw bytes, and hex and Base64 with line breaks and separators", () => {
  const bytes = join(vectors[0]!.frame, vectors[1]!.frame);
  const hex = Buffer.from(bytes).toString("hex");
  const base64 = (each: Uint8Array) => Buffer.from(each).toString("base64");
  const text = (form: string) => readCaptured(new TextEncoder().encode(form));
  assertEquals(readCaptured(bytes), { form: "raw", bytes });
  for (
    const form of [
      hex,
      hex.toUpperCase() + "\n",
      hex.replace(/../g, "$& ").replace(/.{48}/g, "$&\r\n"),
      hex.replace(/../g, "$&:").slice(0, -1),
      hex.replace(/../g, "0x$&, "),
    ]
  ) assertEquals(text(form), { form: "hex", bytes });
  for (
    const form of [
      base64(bytes),
      base64(bytes).replace(/.{76}/g, "$&\n") + "\n",
      base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""),
      // One frame per line, each with its own Base64 padding.
      `${base64(vectors[0]!.frame)}\n${base64(vectors[1]!.frame)}\n`,
    ]
  ) assertEquals(text(form), { form: "base64", bytes });
  assertEquals(text("not; a capture").form, "raw");
  assertEquals(text("").bytes.length, 0);
});
