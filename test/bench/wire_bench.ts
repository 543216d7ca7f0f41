/**
 * Compares encoding requests and decoding answers on the direct socket with the bare cryptography and protobuf work.
 * Also compares the runtime's crypto with node-forge, to justify the use of the runtime's crypto.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, sign, verify } from "node:crypto";
// @ts-types="@types/node-forge"
import forge from "node-forge";
import protobuf from "protobufjs";
import type { Issue } from "../../lib/errors.ts";
import { account } from "../../lib/operations/account.ts";
import { fills } from "../../lib/operations/fills.ts";
import { type AnyOperation, encodeParams } from "../../lib/operations/operation.ts";
import { orders } from "../../lib/operations/orders.ts";
import { definitionFiles } from "../../lib/wire/definitions.ts";
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import { FrameDecoder } from "../../lib/wire/framing.ts";
import { exportPrivateKey, exportPublicKey, generateKeyPair } from "../../lib/wire/keys.ts";
import { Sealing } from "../../lib/wire/sealing.ts";
import { vectors } from "../wire/vectors.ts";
import { inTurns, report, rounded } from "./harness.ts";

const BATCH = 100;
const ROUNDS = Deno.args.includes("--short") ? 5 : 21;

const developer = generateKeyPair();
const platform = generateKeyPair();
const sessionKey = crypto.getRandomValues(new Uint8Array(16));
using client = new Sealing({ privateKey: developer.privateKey, publicKey: platform.publicKey });
using server = new Sealing({ privateKey: platform.privateKey, publicKey: developer.publicKey });
client.useSessionKey(sessionKey);
server.useSessionKey(sessionKey);
const envelopes = await loadEnvelopes();
const { messages } = envelopes;

/** Measures batches alternately, and prints the microseconds of one piece of work. */
async function compare(
  name: string,
  functions: { floor: () => unknown; ours: () => unknown },
  target: [words: string, met: (ratio: number) => boolean],
): Promise<void> {
  const batch = (work: () => unknown) => () => {
    for (let index = 0; index < BATCH; index++) work();
    return Promise.resolve();
  };
  const { floor, ours } = await inTurns(
    { floor: batch(functions.floor), ours: batch(functions.ours) },
    { warmup: 5, rounds: ROUNDS },
  );
  const ratio = ours / floor;
  report({
    name,
    unit: "µs, median",
    floor: rounded(floor * 1000 / BATCH),
    ours: rounded(ours * 1000 / BATCH),
    ratio: rounded(ratio),
    target: target[0],
    ok: target[1](ratio),
  });
}

const order = {
  market: "hk",
  symbol: "00700.HK",
  quantity: "100",
  price: "385.400",
  side: "buy",
  orderType: "enhanced-limit",
} as const;

/** Returns the frame of a request, after validation, encoding, signature and encryption. */
function buildRequest(): Uint8Array {
  const issues: Issue[] = [];
  orders.place.request.check(order, [], issues);
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  const bytes = messages.encode("TradeEntrustRequest", encodeParams(orders.place, order));
  const body = envelopes.encodeRequest({
    type: 16,
    id: "5f0c2b1e-0000-4000-8000-000000000079",
    time: 1_763_625_598_079,
    token: "a-token-of-a-session-with-some-length",
    payload: { name: "TradeEntrustRequest", bytes },
  });
  return client.seal({ type: "request", serial: 7, body });
}

const [requested] = [...new FrameDecoder().frames(buildRequest())];
const plainRequest = new Uint8Array(server.open(requested!).body);
const signingKey = developer.privateKey.handle;
await compare("wire/request", {
  floor: () => sign("RSA-SHA1", plainRequest, signingKey),
  ours: buildRequest,
}, ["at most 1.2", (ratio) => ratio <= 1.2]);

/** The bare protobuf library with the same definitions. */
const root = new protobuf.Root();
root.addJSON(protobuf.common.get("google/protobuf/any.proto")!.nested!);
for (const text of Object.values(definitionFiles)) protobuf.parse(text, root, { keepCase: true });
root.resolveAll();
const bareEnvelope = root.lookupType("PBResponse");

/** Measures decoding an answer. */
async function compareAnswer(
  name: string,
  operation: AnyOperation,
  message: string,
  plain: Record<string, unknown>,
) {
  const body = envelopes.encodeResponse({
    type: 21,
    id: "5f0c2b1e-0000-4000-8000-000000000079",
    time: 1_763_625_598_079,
    code: "0000",
    text: "success",
    payload: { name: message, bytes: messages.encode(message, plain) },
  });
  const frame = server.seal({ type: "response", serial: 7, body });
  const sealed = frame.slice(151);
  const signature = frame.slice(14, 142);
  const verifyingKey = platform.publicKey.handle;
  const barePayload = root.lookupType(message);
  const read = messages.reader(message);
  const decoder = new FrameDecoder();
  // One cipher for all answers, as in the toolkit: a new cipher for each answer would make the floor too slow.
  const decipher = createDecipheriv("aes-128-ecb", sessionKey, null).setAutoPadding(false);
  try {
    await compare(name, {
      floor: () => {
        const padded = decipher.update(sealed);
        const bare = padded.subarray(0, padded.length - padded[padded.length - 1]!);
        if (!verify("RSA-SHA1", bare, verifyingKey, signature)) throw new Error("not verified");
        // The bare message has no types; its payload is an Any.
        const envelope = bareEnvelope.decode(bare) as unknown as { payload: { value: Uint8Array } };
        return barePayload.decode(envelope.payload.value);
      },
      ours: () => {
        decoder.write(frame);
        const { payload } = envelopes.decodeResponse(client.open(decoder.next()!).body);
        return operation.response.decode(read(payload!.bytes));
      },
    }, ["at most 1.5", (ratio) => ratio <= 1.5]);
  } finally {
    decipher.final();
  }
}

const sample = (message: string) => vectors.find((each) => each.message === message)!.payload!;
const numeric = (plain: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(plain).map(([name, value]) => [name, typeof value === "string" ? "12345.678" : value]),
  );
await compareAnswer(
  "wire/answer-funds",
  account.funds,
  "TradeQueryMarginFundInfoResponse",
  numeric(sample("TradeQueryMarginFundInfoResponse")),
);
const fill = {
  businessAmount: "200",
  businessPrice: "385.400",
  businessBalance: "77080.00",
  businessTime: "103015",
  entrustBs: "1",
  stockCode: "00700.HK",
  stockName: "TENCENT",
  exchangeType: "K",
  entrustId: "1234567",
};
await compareAnswer("wire/answer-20-fills", fills.today, "TradeQueryRealDeliverListResponse", {
  data: Array.from({ length: 20 }, () => fill),
});

const forgePrivate = forge.pki.privateKeyFromPem(exportPrivateKey(developer.privateKey));
const forgePublic = forge.pki.publicKeyFromAsn1(
  forge.asn1.fromDer(forge.util.decode64(exportPublicKey(developer.publicKey))),
);
const binary = Buffer.from(plainRequest).toString("latin1");
const digest = () => forge.md.sha1.create().update(binary);
const ownSignature = sign("RSA-SHA1", plainRequest, signingKey);
const binarySignature = ownSignature.toString("latin1");
const faster: [string, (ratio: number) => boolean] = [
  "below 1: the runtime's own crypto is faster",
  (r) => r < 1,
];
await compare("wire/sign-forge-or-own", {
  floor: () => forgePrivate.sign(digest()),
  ours: () => sign("RSA-SHA1", plainRequest, signingKey),
}, faster);
await compare("wire/verify-forge-or-own", {
  floor: () => forgePublic.verify(digest().digest().getBytes(), binarySignature),
  ours: () => verify("RSA-SHA1", plainRequest, developer.publicKey.handle, ownSignature),
}, faster);
const kilobyte = new Uint8Array(1024);
const binaryKilobyte = Buffer.from(kilobyte).toString("latin1");
const cipher = createCipheriv("aes-128-ecb", sessionKey, null).setAutoPadding(false);
await compare("wire/aes-1KiB-forge-or-own", {
  floor: () => {
    const other = forge.cipher.createCipher("AES-ECB", Buffer.from(sessionKey).toString("latin1"));
    other.start({});
    other.update(forge.util.createBuffer(binaryKilobyte));
    return other.finish();
  },
  ours: () => cipher.update(kilobyte),
}, faster);
cipher.final();
