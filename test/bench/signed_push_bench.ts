/**
 * Measures decoding signed and encrypted pushes, as the platform sends them over the direct socket, to typed events.
 * The header of each push has an RSA signature. Checking the signature is most of the work. To separate the cost of
 * this check, the benchmark measures three kinds of frames alternately: these frames, the same frames without the
 * check, and plain pushes.
 *
 * @module
 */
import { createDecipheriv, verify } from "node:crypto";
import { createPushReader } from "../../lib/transports/push/reader.ts";
import { SessionCipher } from "../../lib/wire/cipher.ts";
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import { type Frame, FrameDecoder } from "../../lib/wire/framing.ts";
import { generateKeyPair } from "../../lib/wire/keys.ts";
import { readings } from "../../lib/wire/padding.ts";
import { Sealing } from "../../lib/wire/sealing.ts";
import { bareQuoteReader, SIGNATURE_AT, SIGNATURE_END, splitByHand } from "./bare_quotes.ts";
import { inTurns, report, rounded } from "./harness.ts";
import { quoteFrames } from "./push_frames.ts";

const FRAMES = 300;
const ROUNDS = Deno.args.includes("--short") ? 5 : 15;
/** Frames per measurement. The signature check takes tens of microseconds per frame, everything else a few. */
const WANTED = { signed: 1_500, unchecked: 15_000 };

const developer = generateKeyPair();
const platform = generateKeyPair();
const sessionKey = crypto.getRandomValues(new Uint8Array(16));
using client = new Sealing({ privateKey: developer.privateKey, publicKey: platform.publicKey });
using server = new Sealing({ privateKey: platform.privateKey, publicKey: developer.publicKey });
client.useSessionKey(sessionKey);
server.useSessionKey(sessionKey);

const plain = await quoteFrames(FRAMES);
const sealed = await quoteFrames(
  FRAMES,
  (body, index) => server.seal({ type: "push", serial: index + 1, body }),
);
const envelopes = await loadEnvelopes();
const read = createPushReader(envelopes);
const readBare = bareQuoteReader();

/** Cuts frames without the toolkit, and calls a function for each. */
function bare(bytes: Uint8Array<ArrayBuffer>, wanted: number, bodyOf: BareBody): Promise<void> {
  const view = new DataView(bytes.buffer);
  let count = 0;
  while (count < wanted) {
    splitByHand(view, { from: 0, to: bytes.length }, (header, body, end) => {
      readBare(bodyOf(bytes.subarray(body, end), header));
      count++;
    });
  }
  return Promise.resolve();
}
type BareBody = (body: Uint8Array, header: number) => Uint8Array;

/** Decodes frames with the toolkit: frame decoder, decryption, and push decoder. */
function ours(bytes: Uint8Array, wanted: number, bodyOf: (frame: Frame) => Uint8Array): Promise<void> {
  const decoder = new FrameDecoder();
  for (let count = 0; count < wanted; count += FRAMES) {
    decoder.write(bytes);
    for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) {
      const event = read(envelopes.decodeNotify(bodyOf(frame)));
      if (event.type !== "quote") throw new Error(`a frame gave "${event.type}"`);
    }
  }
  return Promise.resolve();
}

// One cipher for all frames, as in the toolkit: a new cipher for each frame would make the floor too slow.
const decipher = createDecipheriv("aes-128-ecb", sessionKey, null).setAutoPadding(false);
function decrypt(body: Uint8Array): Uint8Array {
  const padded = decipher.update(body);
  return padded.subarray(0, padded.length - padded[padded.length - 1]!);
}
const key = platform.publicKey.handle;
function decryptAndVerify(body: Uint8Array, header: number): Uint8Array {
  const opened = decrypt(body);
  const signature = sealed.subarray(header + SIGNATURE_AT, header + SIGNATURE_END);
  if (!verify("RSA-SHA1", opened, key, signature)) throw new Error("not verified");
  return opened;
}
using session = new SessionCipher(sessionKey);
/** Does what `Sealing` does before verifying. The toolkit never returns an unverified body. */
function decryptOnly(frame: Frame): Uint8Array {
  const padded = session.decrypt(frame.body);
  return padded.subarray(0, readings(padded)[0]);
}

const { signed, unchecked } = WANTED;
const times = await inTurns({
  floorSigned: () => bare(sealed, signed, decryptAndVerify),
  oursSigned: () => ours(sealed, signed, (frame) => client.open(frame).body),
  floorUnchecked: () => bare(sealed, unchecked, decrypt),
  oursUnchecked: () => ours(sealed, unchecked, decryptOnly),
  floorPlain: () => bare(plain, unchecked, (body) => body),
  oursPlain: () => ours(plain, unchecked, (frame) => frame.body),
}, { warmup: 4, rounds: ROUNDS });
decipher.final();

/** Microseconds per frame. */
const each = {
  floorSigned: times.floorSigned * 1000 / signed,
  oursSigned: times.oursSigned * 1000 / signed,
  floorUnchecked: times.floorUnchecked * 1000 / unchecked,
  oursUnchecked: times.oursUnchecked * 1000 / unchecked,
  floorPlain: times.floorPlain * 1000 / unchecked,
  oursPlain: times.oursPlain * 1000 / unchecked,
};

function reportRate(
  name: string,
  form: "Signed" | "Unchecked" | "Plain",
  least: number,
  details: Record<string, unknown> = {},
): void {
  const [floor, own] = [1e6 / each[`floor${form}`], 1e6 / each[`ours${form}`]];
  report({
    name,
    unit: "frames/s, median",
    floor: rounded(floor),
    ours: rounded(own),
    ratio: rounded(own / floor),
    target: `at least ${least} of the floor`,
    ok: own / floor >= least,
    ...details,
  });
}

// Both sides make the same signature check, so the toolkit's other work may add only little.
reportRate("push/signed", "Signed", 0.85, {
  frameBytes: sealed.length / FRAMES,
  verifyMicroseconds: rounded(each.oursSigned - each.oursUnchecked),
  verifyShare: rounded(1 - each.oursUnchecked / each.oursSigned),
  floorVerifyShare: rounded(1 - each.floorUnchecked / each.floorSigned),
});
reportRate("push/signed-without-verify", "Unchecked", 0.5);
reportRate("push/signed-beside-plain", "Plain", 0.5, { frameBytes: plain.length / FRAMES });
