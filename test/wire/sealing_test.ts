import { assert, assertEquals, assertThrows } from "@std/assert";
import type { FrameType } from "../../lib/dictionaries/header.ts";
import { ProtocolError } from "../../lib/errors.ts";
import { encryptSegments, SessionCipher } from "../../lib/wire/cipher.ts";
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import type { WireFault } from "../../lib/wire/faults.ts";
import { encodeFrame, type Frame, FrameDecoder } from "../../lib/wire/framing.ts";
import { generateKeyPair, readPrivateKey, readPublicKey } from "../../lib/wire/keys.ts";
import { Outstanding } from "../../lib/transports/direct/link_calls.ts";
import { pad, type Padding } from "../../lib/wire/padding.ts";
import { Sealing, type SealingOptions, signBody } from "../../lib/wire/sealing.ts";
import { wireFaults } from "./fuzzing.ts";
import { randomFrom } from "../../lib/time.ts";
import { bytesOf, joined, type Vector, vectors, wireKeys } from "./vectors.ts";

const developer = readPrivateKey(wireKeys.developerKeyPkcs8Base64);
const developerPublic = readPublicKey(wireKeys.developerPublicKeySpkiBase64);
const platform = readPrivateKey(wireKeys.platformKeyPkcs8Base64);
const platformPublic = readPublicKey(wireKeys.platformPublicKeySpkiBase64);
const sessionKey = bytesOf(wireKeys.aesKeyBase64);

function sealing(side: "client" | "server", options: Partial<SealingOptions> = {}): Sealing {
  const keys = side === "client"
    ? { privateKey: developer, publicKey: platformPublic }
    : { privateKey: platform, publicKey: developerPublic };
  const made = new Sealing({ ...keys, ...options });
  made.useSessionKey(sessionKey);
  return made;
}

function frameOf(bytes: Uint8Array): Frame {
  const [frame] = [...new FrameDecoder().frames(bytes)];
  assert(frame !== undefined);
  return frame;
}

// The file of vectors calls a push "notify". All other names are the same.
const typeOf = ({ kind }: Vector): FrameType => kind === "notify" ? "push" : kind as FrameType;
const codeOf = (work: () => unknown): string | undefined => assertThrows(work, ProtocolError).code;
const anySeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0]!;

Deno.test("Sealing opens every frame of the vendor to its plain body, each on the side that receives it", () => {
  using client = sealing("client");
  using server = sealing("server");
  for (const vector of vectors) {
    const side = vector.kind === "request" ? server : client;
    const { body, signature } = side.open(frameOf(vector.frame));
    assertEquals(new Uint8Array(body), vector.plainBody);
    assertEquals(signature, vector.kind === "heartbeat" ? "none" : "ok");
  }
});

Deno.test("Sealing opens all frames from one read, and from reads of one byte", () => {
  using client = sealing("client");
  using server = sealing("server");
  const expected = vectors.map(({ plainBody }) => plainBody);
  const open = (frame: Frame) =>
    new Uint8Array((frame.type === "request" ? server : client).open(frame).body);
  const whole = new FrameDecoder();
  assertEquals([...whole.frames(joined)].map(open), expected);
  const slow = new FrameDecoder({ bufferLength: 151 });
  const found: Uint8Array[] = [];
  for (let at = 0; at < joined.length; at++) {
    for (const frame of slow.frames(joined.subarray(at, at + 1))) found.push(open(frame));
  }
  assertEquals(found, expected);
});

Deno.test("Sealing creates every frame of the vendor again, byte for byte if the cipher is deterministic", () => {
  using client = sealing("client");
  using server = sealing("server");
  let same = 0;
  for (const vector of vectors) {
    const [ours, theirs] = vector.kind === "request" ? [client, server] : [server, client];
    const frame = ours.seal({ type: typeOf(vector), serial: vector.serial, body: vector.plainBody });
    if (vector.encryption === "rsa") {
      // RSA fills each segment with random bytes. So the test compares the header without the length, and the body
      // that the other side reads.
      assertEquals(frame.subarray(0, 10), vector.frame.subarray(0, 10));
      assertEquals(frame.subarray(14, 151), vector.frame.subarray(14, 151));
      assertEquals(new Uint8Array(theirs.open(frameOf(frame)).body), vector.plainBody);
    } else {
      assertEquals(frame, vector.frame);
      same++;
    }
  }
  assertEquals(same, 82);
});

Deno.test("encodeRequest() creates every request of the vendor from its members, byte for byte", async () => {
  const { messages, encodeRequest } = await loadEnvelopes();
  let count = 0;
  for (const { kind, message, payload, outer, plainBody } of vectors) {
    if (kind !== "request") continue;
    const body = encodeRequest({
      type: Number(outer?.requestMsgType ?? 0),
      id: String(outer?.requestId ?? ""),
      time: Number(outer?.requestTime ?? 0),
      token: String(outer?.token ?? ""),
      payload: message === null
        ? undefined
        : { name: message, bytes: messages.encode(message, payload ?? {}) },
    });
    assertEquals(body, plainBody, message ?? "no payload");
    count++;
  }
  assertEquals(count, 52);
});

Deno.test("Sealing splits RSA segments at 117 bytes by default, and at 100 bytes if configured, like the vendor", () => {
  const vector = vectors.find(({ encryption }) => encryption === "rsa")!;
  assertEquals([vector.plainBody.length, vector.frame.length], [120, 151 + 256]);
  const body = new Uint8Array(117).fill(1);
  using wide = sealing("client");
  assertEquals(wide.seal({ type: "request", serial: 0, body }).length, 151 + 128);
  using narrow = sealing("client", { segmentLength: 100 });
  const frame = narrow.seal({ type: "request", serial: 0, body });
  assertEquals(frame.length, 151 + 256);
  using server = sealing("server");
  assertEquals(new Uint8Array(server.open(frameOf(frame)).body), body);
});

Deno.test("Sealing reads every padding at every length up to 1023, because the signature shows which one is right", () => {
  const seed = anySeed();
  const random = randomFrom(seed);
  using client = sealing("client");
  using cipher = new SessionCipher(sessionKey);
  for (let length = 1; length < 1024; length++) {
    // Bytes below 17: many of these bodies end like a padding, so only the signature shows the right length.
    const body = Uint8Array.from({ length }, () => random() * 17);
    const signature = signBody(body, platform);
    for (const padding of ["pkcs7", "mod_len", "mod_len_over_pkcs7"] satisfies Padding[]) {
      const frame = encodeFrame(
        { type: "push", serial: 9, signature },
        cipher.encrypt(pad(body, padding)),
      );
      assertEquals(
        new Uint8Array(client.open(frameOf(frame)).body),
        body,
        `${padding}, ${length}, seed ${seed}`,
      );
    }
  }
});

Deno.test("Sealing reads bodies whose end looks like the other padding", () => {
  using client = sealing("client");
  // The first body with PKCS#7 padding also looks like a body with mod_len padding. With mod_len, the second body also
  // ends like PKCS#7.
  const zeros = new Uint8Array(31);
  zeros[3] = 7;
  const ones = new Uint8Array(33).fill(1);
  for (const body of [zeros, ones]) {
    for (const padding of ["pkcs7", "mod_len", "mod_len_over_pkcs7"] satisfies Padding[]) {
      using server = sealing("server", { padding });
      const frame = frameOf(server.seal({ type: "response", serial: 3, body }));
      assertEquals(new Uint8Array(client.open(frame).body), body);
    }
  }
});

Deno.test("Sealing opens its own frames of every type, with random bodies", () => {
  const seed = anySeed();
  const random = randomFrom(seed);
  using client = sealing("client");
  using server = sealing("server");
  for (let round = 0; round < 300; round++) {
    const type = (["request", "response", "push"] as const)[Math.floor(random() * 3)]!;
    const serial = random() < 0.2 ? 0 : Math.floor(random() * 0x1_0000_0000);
    const body = Uint8Array.from({ length: random() < 0.1 ? 0 : random() * 700 }, () => random() * 256);
    const [ours, theirs] = type === "request" ? [client, server] : [server, client];
    const frame = frameOf(ours.seal({ type, serial, body }));
    const where = `seed ${seed}, round ${round}`;
    assertEquals([frame.type, frame.serial], [type, serial], where);
    const opened = theirs.open(frame);
    assertEquals([new Uint8Array(opened.body), opened.signature], [body, "ok"], where);
  }
});

Deno.test("Sealing does not sign heartbeats, and drops the body of a received heartbeat", () => {
  using client = sealing("client");
  const frame = client.seal({ type: "heartbeat", serial: 5, body: new Uint8Array([1]) });
  assertEquals(frame.length, 151);
  assertEquals([...frame.subarray(0, 14)], [0x48, 0x53, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const loaded = encodeFrame({ type: "heartbeat", serial: 12 }, new Uint8Array([10, 20]));
  assertEquals(client.open(frameOf(loaded)), { body: new Uint8Array(0), signature: "none" });
});

Deno.test("Sealing rejects unsigned frames unless allowed, and always rejects a wrong signature", () => {
  using strict = sealing("client");
  using lax = sealing("client", { allowUnsigned: true });
  using cipher = new SessionCipher(sessionKey);
  const body = new Uint8Array([8, 1]);
  const encrypted = cipher.encrypt(pad(body));
  const unsigned = [
    encodeFrame({ type: "push" }, body),
    encodeFrame({ type: "push", serial: 4 }, encrypted),
    encodeFrame({ type: "response", serial: 4 }, encrypted),
    encodeFrame({ type: "response" }, encryptSegments(body, developerPublic)),
  ];
  for (const bytes of unsigned) {
    assertEquals(codeOf(() => strict.open(frameOf(bytes))), "signature-missing");
    const opened = lax.open(frameOf(bytes));
    assertEquals([new Uint8Array(opened.body), opened.signature], [body, "none"]);
  }
  // A frame without a body needs a signature too.
  assertEquals(codeOf(() => strict.open(frameOf(encodeFrame({ type: "push" })))), "signature-missing");
  const signatures = [
    signBody(body, developer),
    signBody(new Uint8Array([8, 2]), platform),
    new Uint8Array(128).fill(9),
  ];
  for (const signature of signatures) {
    for (const side of [strict, lax]) {
      for (
        const frame of [
          encodeFrame({ type: "push", signature }, body),
          encodeFrame({ type: "response", serial: 4, signature }, encrypted),
        ]
      ) assertEquals(codeOf(() => side.open(frameOf(frame))), "signature-bad");
    }
  }
});

Deno.test("without a signature, Sealing recognizes mod_len padding by its form", () => {
  using lax = sealing("client", { allowUnsigned: true });
  using cipher = new SessionCipher(sessionKey);
  for (const length of [1, 15, 16, 17, 100]) {
    const body = new Uint8Array(length).fill(0x77);
    const frame = encodeFrame({ type: "push", serial: 1 }, cipher.encrypt(pad(body, "mod_len")));
    assertEquals(new Uint8Array(lax.open(frameOf(frame)).body), body);
  }
});

/** Faults of the wire, each with a function that causes it. */
const faulty: [WireFault, () => unknown][] = (() => {
  const signature = signBody(new Uint8Array([8, 1]), platform);
  const open = (bytes: Uint8Array, side = sealing("client")) => {
    using opened = side;
    return opened.open(frameOf(bytes));
  };
  const header = (at: number, ...values: number[]) => () => {
    const bytes = vectors[0]!.frame.slice();
    bytes.set(values, at);
    return [...new FrameDecoder().frames(bytes)];
  };
  return [
    ["frame-flag", header(0, 0x58)],
    ["frame-type", header(2, 4)],
    ["frame-type", header(2, 0xff, 0xff)],
    ["frame-format", header(4, 1)],
    ["frame-version", header(5, 1)],
    ["frame-compression", header(142, 1)],
    ["frame-too-large", header(10, 0xff, 0xff, 0xff, 0xff)],
    ["frame-too-large", header(10, 0, 0, 0, 0x80)],
    ["frame-too-large", header(10, 1, 0, 0x80, 0)],
    ["signature-missing", () => open(encodeFrame({ type: "push" }, new Uint8Array([8, 1])))],
    ["signature-bad", () => open(encodeFrame({ type: "push", signature }, new Uint8Array([8, 2])))],
    ["cipher-key", () => {
      using bare = new Sealing({ privateKey: developer, publicKey: platformPublic });
      return bare.open(frameOf(encodeFrame({ type: "push", serial: 1, signature }, new Uint8Array(16))));
    }],
    ["cipher-key", () => {
      using bare = new Sealing({ privateKey: developer, publicKey: platformPublic });
      return bare.seal({ type: "request", serial: 1, body: new Uint8Array(1) });
    }],
    ["cipher-segment", () => open(encodeFrame({ type: "response", signature }, new Uint8Array(100)))],
    ["cipher-segment", () => open(encodeFrame({ type: "response", signature }, new Uint8Array(128)))],
    ["cipher-block", () => open(encodeFrame({ type: "push", serial: 1, signature }, new Uint8Array(17)))],
    ["cipher-padding", () => {
      using cipher = new SessionCipher(sessionKey);
      const body = cipher.encrypt(new Uint8Array(16).fill(99));
      return open(encodeFrame({ type: "push", serial: 1, signature }, body));
    }],
    ["answer-unasked", () => new Outstanding<string>().take("5f0c2b1e")],
  ] as [WireFault, () => unknown][]; // literals of the union; the test below compares them with `wireFaults`
})();

Deno.test("every fault on the wire except frame-short is a ProtocolError with its own code", async () => {
  for (const [code, work] of faulty) assertEquals(codeOf(work), code);
  const { messages, decodeResponse } = await loadEnvelopes();
  const damaged = () => decodeResponse(new Uint8Array([0x0a, 0xff]));
  assertEquals(codeOf(damaged), "message-damaged");
  assertEquals(codeOf(() => messages.decode("NoSuchNotify", new Uint8Array(0))), "message-unknown");
  assertEquals(codeOf(() => messages.encode("TickerRequest", { limit: 1.5 })), "message-field");
  const shown = new Set([
    ...faulty.map(([code]) => code),
    "message-damaged",
    "message-unknown",
    "message-field",
  ]);
  // A decoder waits for the rest of a short frame. Only `inspectFrames()`, which has all bytes, reports
  // "frame-short".
  assertEquals(Object.keys(wireFaults).filter((code) => !shown.has(code)), ["frame-short"]);
});

Deno.test("no message of a fault contains a key, and each names the failed action", () => {
  for (const [, work] of faulty) {
    const { message } = assertThrows(work, ProtocolError);
    assert(/^Cannot [^:]+: .*[^.]$/.test(message), message);
    for (const secret of Object.values(wireKeys)) assert(!message.includes(secret.slice(0, 12)));
  }
});

Deno.test("Sealing rejects keys whose signatures do not fit the header, before anything is sent", () => {
  const { privateKey, publicKey } = generateKeyPair(2048);
  assertThrows(() => new Sealing({ privateKey, publicKey: platformPublic }), TypeError, "it has 2048 bits");
  assertThrows(() => new Sealing({ privateKey: developer, publicKey }), TypeError, "it has 2048 bits");
});

Deno.test("Sealing replaces the session key by a new one", () => {
  using client = sealing("client");
  using server = sealing("server");
  const before = server.seal({ type: "push", serial: 1, body: new Uint8Array([8, 1]) });
  client.useSessionKey(new Uint8Array(16).fill(3));
  const { code } = assertThrows(() => client.open(frameOf(before)), ProtocolError);
  assert(code === "cipher-padding" || code === "signature-bad", code);
  server.useSessionKey(new Uint8Array(16).fill(3));
  const after = server.seal({ type: "push", serial: 1, body: new Uint8Array([8, 1]) });
  assertEquals([...client.open(frameOf(after)).body], [8, 1]);
});

Deno.test("Outstanding returns the call of each answer, only once", () => {
  const calls = new Outstanding<string>();
  calls.add("a", "first");
  assertEquals(calls.only, "first");
  calls.add("b", "second");
  assertEquals([calls.size, calls.only], [2, undefined]);
  assertEquals(calls.take("b"), "second");
  assertEquals(codeOf(() => calls.take("b")), "answer-unasked");
  assertEquals(codeOf(() => calls.take("0")), "answer-unasked");
  assertThrows(() => calls.add("a", "again"), TypeError, "every request needs its own id");
  assertThrows(() => calls.add("0", "nobody"), TypeError, "every request needs its own id");
  assert(calls.forget("a") && !calls.forget("a"));
  calls.add("c", "third");
  assertEquals([calls.takeAll(), calls.size], [["third"], 0]);
});
