import { assert, assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";
// @ts-types="@types/node-forge"
import forge from "node-forge";
import { ProtocolError } from "../../lib/errors.ts";
import { decryptSegments, encryptSegments, readSessionKey, SessionCipher } from "../../lib/wire/cipher.ts";
import {
  exportPrivateKey,
  exportPublicKey,
  generateKeyPair,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../lib/wire/keys.ts";
import { likelyReading, pad, type Padding, readings } from "../../lib/wire/padding.ts";
import { isUnsigned, signBody, verifyBody } from "../../lib/wire/sealing.ts";
import { randomFrom } from "../../lib/time.ts";
import { aesPairs, bytesOf, rsaTriples, vectors, wireKeys } from "./vectors.ts";

const PADDINGS: Padding[] = ["pkcs7", "mod_len", "mod_len_over_pkcs7"];
const developer = readPrivateKey(wireKeys.developerKeyPkcs8Base64);
const developerPublic = readPublicKey(wireKeys.developerPublicKeySpkiBase64);
const platform = readPublicKey(wireKeys.platformPublicKeySpkiBase64);
const sessionKey = bytesOf(wireKeys.aesKeyBase64);

const anySeed = (): number => crypto.getRandomValues(new Uint32Array(1))[0]!;
const randomBytes = (random: () => number, length: number): Uint8Array =>
  Uint8Array.from({ length }, () => random() * 256);
/** Returns bytes in the form that node-forge uses: one character for each byte. */
const binary = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");
const unbinary = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));
const codeOf = (work: () => unknown): string | undefined => assertThrows(work, ProtocolError).code;

/** The developer's key as node-forge reads it. */
const forgePrivate = forge.pki.privateKeyFromAsn1(
  forge.asn1.fromDer(forge.util.decode64(wireKeys.developerKeyPkcs8Base64)),
);
const forgePublic = forge.pki.publicKeyFromAsn1(
  forge.asn1.fromDer(forge.util.decode64(wireKeys.developerPublicKeySpkiBase64)),
);
const pkcs1Private = forge.util.encode64(forge.asn1.toDer(forge.pki.privateKeyToAsn1(forgePrivate)).bytes());
const pkcs1Public = forge.util.encode64(
  forge.asn1.toDer(forge.pki.publicKeyToRSAPublicKey(forgePublic)).bytes(),
);
const armour = (label: string, base64: string): string =>
  `-----BEGIN ${label}-----\n${base64.replace(/.{64}/g, "$&\n")}\n-----END ${label}-----\n`;

Deno.test("readPrivateKey() reads PKCS#8 and PKCS#1, in PEM with any label or in bare Base64", () => {
  const pkcs8 = wireKeys.developerKeyPkcs8Base64;
  const expected = exportPublicKey(developerPublic);
  for (
    const text of [
      pkcs8,
      pkcs1Private,
      armour("PRIVATE KEY", pkcs8),
      armour("RSA PRIVATE KEY", pkcs1Private),
      // The form that the vendor's client uses.
      `-----BEGIN RSA PRIVATE KEY-----\n${pkcs8}\n-----END RSA PRIVATE KEY-----`,
      ` ${pkcs8.replace(/.{76}/g, "$&\r\n")}\n`,
      `Key of today\n${armour("PRIVATE KEY", pkcs8)}`,
    ]
  ) {
    const key = readPrivateKey(text);
    assertEquals(key.length, 128);
    assertEquals(exportPublicKey(publicKeyOf(key)), expected);
  }
});

Deno.test("readPublicKey() reads SubjectPublicKeyInfo and PKCS#1, in PEM or bare Base64", () => {
  const spki = wireKeys.developerPublicKeySpkiBase64;
  for (
    const text of [
      spki,
      pkcs1Public,
      armour("PUBLIC KEY", spki),
      armour("RSA PUBLIC KEY", pkcs1Public),
      `${spki}\n`,
    ]
  ) {
    const key = readPublicKey(text);
    assertEquals(key.length, 128);
    assertEquals(exportPublicKey(key), spki);
  }
});

Deno.test("readPrivateKey() and readPublicKey() describe a wrong text without showing it", () => {
  const { privateKey: curve } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { privateKeyPem: locked } = {
    privateKeyPem: forge.pki.encryptRsaPrivateKey(forgePrivate, "never-mind", {
      legacy: true,
      algorithm: "aes128",
    }),
  };
  const pkcs8 = wireKeys.developerKeyPkcs8Base64;
  const cases: [read: (text: string) => unknown, text: string, reason: string][] = [
    [readPrivateKey, "", "it is empty"],
    [readPrivateKey, armour("PRIVATE KEY", ""), "it is empty"],
    [readPrivateKey, "héllo!", "it is neither PEM nor Base64"],
    [readPrivateKey, pkcs8.slice(0, 400), "it is neither PKCS#8 nor PKCS#1, or it is damaged"],
    [
      readPrivateKey,
      armour("PRIVATE KEY", pkcs8).slice(0, 500),
      "its PEM armour is damaged",
    ],
    [readPrivateKey, wireKeys.developerPublicKeySpkiBase64, "it is a public key; the private one is needed"],
    [
      readPrivateKey,
      String(curve.export({ type: "pkcs8", format: "pem" })),
      'it is a key for "ec"; RSA is needed',
    ],
    [readPrivateKey, locked, "it is protected by a password; hsgate needs a key without a password"],
    [readPublicKey, pkcs8, "it is a private key; the public one is needed"],
    [readPublicKey, "AAAA", "it is neither SubjectPublicKeyInfo nor PKCS#1, or it is damaged"],
  ];
  for (const [read, text, reason] of cases) {
    const { message } = assertThrows(() => read(text), TypeError);
    const half = read === readPrivateKey ? "private" : "public";
    assertEquals(message, `Cannot read ${half} key: ${reason}`);
  }
});

Deno.test("a private key shows no part of itself when printed or written as JSON", () => {
  const shown = Deno.inspect(developer, { depth: 9, showHidden: true }) + JSON.stringify(developer);
  const secret = exportPrivateKey(developer).split("\n").slice(1, -2);
  assertEquals(secret.length, 14);
  for (const line of secret) assert(!shown.includes(line));
  assert(shown.length < 500, shown);
});

Deno.test("generateKeyPair() creates keys of 1024 bits by default; both keys can be exported and read again", () => {
  const pair = generateKeyPair();
  assertEquals([pair.privateKey.length, pair.publicKey.length], [128, 128]);
  const privateKey = readPrivateKey(exportPrivateKey(pair.privateKey));
  const publicKey = readPublicKey(exportPublicKey(pair.publicKey));
  const body = new Uint8Array([1, 2, 3]);
  assert(verifyBody(body, signBody(body, privateKey), publicKey));
  assert(exportPublicKey(generateKeyPair().publicKey) !== exportPublicKey(publicKey));
});

Deno.test("signBody() creates the same signatures as the vendor and node-forge, byte for byte", () => {
  for (const { plain, signature } of rsaTriples) {
    assertEquals(new Uint8Array(signBody(plain, developer)), signature);
    const digest = forge.md.sha1.create().update(binary(plain));
    assertEquals(unbinary(forgePrivate.sign(digest)), signature);
  }
});

Deno.test("verifyBody() accepts every signed frame of the vendor, and rejects it with a damaged body or another key", () => {
  let count = 0;
  for (const { kind, frame, plainBody } of vectors) {
    const signature = frame.subarray(14, 142);
    if (isUnsigned(signature)) continue;
    const isRequest = kind === "request";
    assert(verifyBody(plainBody, signature, isRequest ? developerPublic : platform));
    assert(!verifyBody(plainBody, signature, isRequest ? platform : developerPublic));
    const damaged = plainBody.slice();
    damaged[plainBody.length >> 1]! ^= 1;
    assert(!verifyBody(damaged, signature, isRequest ? developerPublic : platform));
    const digest = forge.md.sha1.create().update(binary(plainBody)).digest().getBytes();
    if (isRequest) assert(forgePublic.verify(digest, binary(signature)));
    count++;
  }
  assertEquals(count, 82);
});

Deno.test("verifyBody() returns false for damaged signatures and for signatures of wrong lengths", () => {
  const body = new Uint8Array([7]);
  const signature = signBody(body, developer);
  for (let at = 0; at < 128; at++) {
    const damaged = new Uint8Array(signature);
    damaged[at]! ^= 0x80;
    assert(!verifyBody(body, damaged, developerPublic));
  }
  for (const length of [0, 127, 129, 256]) {
    assert(!verifyBody(body, new Uint8Array(length).fill(1), developerPublic));
  }
  assert(!verifyBody(body, new Uint8Array(128).fill(255), developerPublic));
});

Deno.test("signBody() and verifyBody() reject a key whose signature does not fit the header", () => {
  const { privateKey, publicKey } = generateKeyPair(2048);
  assertThrows(() => signBody(new Uint8Array(1), privateKey), TypeError, "it has 2048 bits");
  assertThrows(
    () => verifyBody(new Uint8Array(1), new Uint8Array(128), publicKey),
    TypeError,
    "it has 2048 bits",
  );
});

Deno.test("decryptSegments() reads the vendor's segments of 100 bytes, and node-forge's of any length", () => {
  for (const { plain, encrypted } of rsaTriples) {
    assertEquals(new Uint8Array(decryptSegments(encrypted, developer)), plain);
  }
  for (const length of [1, 2, 100, 116, 117]) {
    const plain = new Uint8Array(length).fill(length);
    const encrypted = unbinary(forgePublic.encrypt(binary(plain), "RSAES-PKCS1-V1_5"));
    assertEquals(new Uint8Array(decryptSegments(encrypted, developer)), plain);
  }
  assertEquals(decryptSegments(new Uint8Array(0), developer).length, 0);
});

Deno.test("encryptSegments() splits at 117 bytes or the given length, and node-forge can decrypt it", () => {
  const seed = anySeed();
  const random = randomFrom(seed);
  for (
    const [length, segmentLength, segments] of [
      [0, undefined, 0],
      [1, undefined, 1],
      [117, undefined, 1],
      [118, undefined, 2],
      [234, undefined, 2],
      [235, undefined, 3],
      [100, 100, 1],
      [101, 100, 2],
      [3, 1, 3],
    ] as const
  ) {
    const plain = randomBytes(random, length);
    const encrypted = encryptSegments(plain, developerPublic, { segmentLength });
    assertEquals(encrypted.length, segments * 128, `${length} bytes, seed ${seed}`);
    assertEquals(new Uint8Array(decryptSegments(encrypted, developer)), plain, `seed ${seed}`);
    const parts = Array.from({ length: segments }, (_, at) => encrypted.subarray(at * 128, at * 128 + 128));
    const read = parts.map((part) => forgePrivate.decrypt(binary(part), "RSAES-PKCS1-V1_5")).join("");
    assertEquals(unbinary(read), plain, `seed ${seed}`);
  }
  for (const segmentLength of [0, -1, 118, 1.5]) {
    assertThrows(() => encryptSegments(new Uint8Array(1), developerPublic, { segmentLength }), RangeError);
  }
});

Deno.test("encryptSegments() and decryptSegments() follow the size of the key", () => {
  for (const [bits, most] of [[512, 53], [2048, 245]] as const) {
    const { privateKey, publicKey } = generateKeyPair(bits);
    const plain = new Uint8Array(most + 1).fill(9);
    const encrypted = encryptSegments(plain, publicKey);
    assertEquals(encrypted.length, 2 * bits / 8);
    assertEquals(new Uint8Array(decryptSegments(encrypted, privateKey)), plain);
  }
});

Deno.test("decryptSegments() throws an error with one code for truncated, damaged, foreign and too many segments", () => {
  const encrypted = new Uint8Array(encryptSegments(new Uint8Array(200), developerPublic));
  for (const cut of [1, 127, 129, 255]) {
    assertEquals(codeOf(() => decryptSegments(encrypted.subarray(0, cut), developer)), "cipher-segment");
  }
  const foreign = encryptSegments(new Uint8Array(200), platform);
  assertEquals(codeOf(() => decryptSegments(foreign, developer)), "cipher-segment");
  for (const fill of [0, 255]) {
    assertEquals(codeOf(() => decryptSegments(new Uint8Array(128).fill(fill), developer)), "cipher-segment");
  }
  const endless = encryptSegments(new Uint8Array(117 * 65), developerPublic);
  assertEquals(codeOf(() => decryptSegments(endless, developer)), "cipher-segment");
  assertEquals(decryptSegments(endless.subarray(0, 64 * 128), developer).length, 117 * 64);
  assertEquals(codeOf(() => decryptSegments(endless.subarray(0, 17 * 128), developer, 16)), "cipher-segment");
  // The error has the same message whichever segment is damaged.
  const messages = [0, 200].map((at) => {
    const damaged = encrypted.slice();
    damaged[at]! ^= 1;
    return assertThrows(() => decryptSegments(damaged, developer), ProtocolError).message;
  });
  assertEquals(messages[0], messages[1]);
});

Deno.test("decryptSegments() decrypts every segment even if one is damaged, but none of a truncated body", () => {
  let used = 0;
  const counted = {
    ...developer,
    get handle() {
      used++;
      return developer.handle;
    },
  };
  const encrypted = new Uint8Array(encryptSegments(new Uint8Array(117 * 4), developerPublic));
  for (const at of [0, 128, 256, 384]) {
    used = 0;
    const damaged = encrypted.slice();
    damaged.fill(255, at, at + 128);
    assertThrows(() => decryptSegments(damaged, counted), ProtocolError, "a segment is damaged");
    assertEquals(used, 4, `damaged at ${at}`);
  }
  used = 0;
  assertThrows(
    () => decryptSegments(encrypted.subarray(1), counted),
    ProtocolError,
    "not a whole number of segments",
  );
  assertEquals(used, 0);
});

Deno.test("SessionCipher creates and reads the same AES bodies as the vendor and node-forge", () => {
  using cipher = new SessionCipher(sessionKey);
  for (const { plain, encrypted } of aesPairs) {
    assertEquals(new Uint8Array(cipher.encrypt(pad(plain))), encrypted);
    const padded = cipher.decrypt(encrypted);
    assertEquals(new Uint8Array(padded.subarray(0, readings(padded)[0])), plain);
    const other = forge.cipher.createCipher("AES-ECB", binary(sessionKey));
    // ECB has no initialisation vector, but the types of node-forge require an object.
    other.start({});
    other.update(forge.util.createBuffer(binary(plain)));
    assert(other.finish());
    assertEquals(unbinary(other.output.getBytes()), encrypted);
  }
});

Deno.test("SessionCipher encrypts each body independently of the bodies before it", () => {
  const seed = anySeed();
  const random = randomFrom(seed);
  using cipher = new SessionCipher(sessionKey);
  for (let round = 0; round < 2000; round++) {
    const plain = randomBytes(random, Math.floor(random() * 200));
    const encrypted = cipher.encrypt(pad(plain));
    using fresh = new SessionCipher(sessionKey);
    assertEquals(encrypted, fresh.encrypt(pad(plain)), `seed ${seed}`);
    const padded = cipher.decrypt(encrypted);
    assertEquals(padded, fresh.decrypt(encrypted), `seed ${seed}`);
  }
});

Deno.test("SessionCipher rejects keys and bodies of wrong lengths", () => {
  for (const length of [0, 15, 17, 24, 32]) {
    assertEquals(codeOf(() => new SessionCipher(new Uint8Array(length))), "cipher-key");
  }
  using cipher = new SessionCipher(sessionKey);
  for (const length of [1, 15, 17, 100]) {
    assertEquals(codeOf(() => cipher.decrypt(new Uint8Array(length))), "cipher-block");
  }
});

Deno.test("readSessionKey() accepts only Base64 of 16 bytes, and its error contains no part of the key", () => {
  assertEquals(readSessionKey(wireKeys.aesKeyBase64), sessionKey);
  for (
    const text of [
      "",
      "AQIDBAUGBwgJCgsMDQ4P",
      "AQIDBAUGBwgJCgsMDQ4PEA",
      "AQIDBAUGBwgJCgsMDQ4PEBE=",
      "secret!!",
    ]
  ) {
    const error = assertThrows(() => readSessionKey(text), ProtocolError);
    assertEquals([error.code, error.message], [
      "cipher-key",
      "Cannot read session key: it is not Base64 of 16 bytes",
    ]);
  }
});

Deno.test("pad() adds the documented padding to bodies with 0, 1, 8 and 15 bytes in the last block", () => {
  const hex = (bytes: Uint8Array, from: number) => Buffer.from(bytes.subarray(from)).toString("hex");
  const table: [m: number, pkcs7: string, modLen: string, over: string][] = [
    [0, "10".repeat(16), "00".repeat(16), "10".repeat(15) + "00"],
    [1, "0f".repeat(15), "00".repeat(14) + "01", "0f".repeat(14) + "01"],
    [8, "08".repeat(8), "00".repeat(7) + "08", "08".repeat(8)],
    [15, "01", "0f", "0f"],
  ];
  for (const [rest, ...endings] of table) {
    for (const blocks of [0, 1, 5]) {
      const plain = new Uint8Array(16 * blocks + rest).fill(0x77);
      PADDINGS.forEach((padding, index) => {
        const padded = pad(plain, padding);
        assertEquals(padded.length, 16 * (blocks + 1));
        assertEquals(hex(padded, plain.length), endings[index]);
      });
    }
  }
});

Deno.test("readings() returns at most two lengths, including the right one, for every padding and length up to 1023", () => {
  const seed = anySeed();
  const random = randomFrom(seed);
  for (const padding of PADDINGS) {
    for (let length = 0; length < 1024; length++) {
      const found = readings(pad(randomBytes(random, length), padding));
      assert(found.includes(length) && found.length <= 2, `${padding}, ${length} bytes, seed ${seed}`);
      if (padding === "pkcs7") assertEquals(found[0], length, `seed ${seed}`);
    }
  }
});

Deno.test("readings() returns two lengths only if the last byte is ambiguous", () => {
  // The last byte 1 means one byte of padding under PKCS#7, and fifteen bytes under mod_len.
  const last1 = new Uint8Array(32).fill(0x77);
  last1[31] = 1;
  assertEquals(readings(last1), [31, 17]);
  assertEquals(readings(pad(new Uint8Array(8))), [8]);
  // Sixteen zeros are a whole block of padding under mod_len, and no padding under PKCS#7.
  assertEquals(readings(pad(new Uint8Array(16).fill(7), "mod_len")), [16]);
});

Deno.test("readings() rejects endings that follow neither rule", () => {
  const ending = (last: number, before: number) => {
    const bytes = new Uint8Array(16).fill(before);
    bytes[15] = last;
    return bytes;
  };
  for (const bytes of [ending(16, 7), ending(17, 17), ending(255, 255)]) {
    assertEquals(codeOf(() => readings(bytes)), "cipher-padding");
  }
  for (const length of [0, 1, 15, 17]) {
    assertEquals(codeOf(() => readings(new Uint8Array(length))), "cipher-block");
  }
});

Deno.test("likelyReading() returns the right length of random bodies for every length up to 1023", () => {
  const seed = anySeed();
  const random = randomFrom(seed);
  for (const padding of PADDINGS) {
    for (let length = 0; length < 1024; length++) {
      // A random body ends like the padding of another kind only once in 2^112, and then the form cannot show the
      // right length.
      const plain = randomBytes(random, length);
      assertEquals(likelyReading(pad(plain, padding)), length, `${padding}, ${length} bytes, seed ${seed}`);
    }
  }
});
