/**
 * Provides a platform for answers that the simulated platform never sends: it accepts every login, agrees on a key,
 * and lets the test write every answer.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { encryptSegments } from "../../lib/wire/cipher.ts";
import { type Envelopes, loadEnvelopes, type Request, type Response } from "../../lib/wire/messages.ts";
import { FrameDecoder } from "../../lib/wire/framing.ts";
import { exportPrivateKey, exportPublicKey, generateKeyPair, type PublicKey } from "../../lib/wire/keys.ts";
import { type PlainFrame, Sealing } from "../../lib/wire/sealing.ts";
import type { DirectOptions } from "../../lib/transports/direct/mod.ts";

/** When the order pushes are sent, Unix milliseconds. */
export const PUSHED_AT = 1_763_625_599_000;
const SESSION_KEY = new Uint8Array(16).fill(7);
const [developer, platform, stranger] = [generateKeyPair(), generateKeyPair(), generateKeyPair()];

/** The payload of an answer: message name and members, with their wire names. */
export type AnswerPayload = [name: string, members: Record<string, unknown>];

/** Members of an answer that a test may change. */
export type Answer = Partial<Omit<Response, "payload">> & { told?: AnswerPayload };

/** One request and its connection. */
export interface FarCall {
  kind: "trade" | "quote";
  request: Request;
  /** Returns the frame of an answer, by default with code 0000 and the id and type number of the request. */
  answer(answer?: Answer): Uint8Array;
  /**
   * Returns any frame, signed by the platform. With serial 0, a push is not encrypted, and an answer is encrypted
   * with RSA.
   */
  frame(frame: PlainFrame): Uint8Array;
  /** Returns the body of an order push. */
  orderPush(orderId: string): Uint8Array;
  /** Sends frames in one write. */
  send(...frames: Uint8Array[]): Promise<void>;
}

/** Options of the platform. */
export interface FarEndOptions {
  /** Answers a request other than the first one and the trade login. */
  onCall(call: FarCall): void | Promise<void>;
  /** Returns whether a connection is closed at a heartbeat. */
  hangsUp?(kind: "trade" | "quote"): boolean;
  /** Sent in one write with the answer to the first request. */
  afterInit?: Uint8Array;
  /** Returns members of the answer to the first request of a connection. */
  init?(): Answer;
  /** Returns bytes to send instead of the answer to the first request; `undefined` for the normal answer. */
  insteadOfInit?(developer: PublicKey): Uint8Array | undefined;
  /** Sign with a key that the client does not know. */
  signsStrangely?: boolean;
  /** Encrypt tokens with another developer's key. */
  encryptsStrangely?: boolean;
}

/** A running platform. */
export interface DirectFarEnd extends AsyncDisposable {
  /** Options for a client to connect to it. */
  options: DirectOptions;
  /** Paths that were requested over HTTP. */
  posted: string[];
  /** Connections in the order of their first requests. */
  opened: ("trade" | "quote")[];
}

/** Starts a platform on free ports. */
export async function directFarEnd(options: FarEndOptions): Promise<DirectFarEnd> {
  const envelopes = await loadEnvelopes();
  const listeners = { trade: listen(), quote: listen() };
  const open = new Set<Deno.TcpConn>();
  const running: Promise<void>[] = [];
  const posted: string[] = [];
  const opened: ("trade" | "quote")[] = [];
  for (const kind of ["trade", "quote"] as const) {
    running.push((async () => {
      for await (const connection of listeners[kind]) {
        open.add(connection);
        running.push(serve(connection, kind, { options, envelopes, opened }));
      }
    })());
  }
  const http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    await request.text();
    posted.push(pathname);
    const { publicKey } = options.encryptsStrangely ? stranger : developer;
    const token = Buffer.from(encryptSegments(new TextEncoder().encode("a token"), publicKey));
    const data = pathname === "/hs/v2/login"
      ? { nickName: "nobody", mobile: "1", token: token.toString("base64") }
      : { tradeServer: addressOf(listeners.trade), hqServer: addressOf(listeners.quote) };
    return globalThis.Response.json({ respCode: "0000", data });
  });
  return {
    options: {
      url: `http://127.0.0.1:${http.addr.port}`,
      country: "CHN",
      mobile: "13000000000",
      password: "login-secret",
      deviceId: "AA:BB:CC:00:11:22",
      privateKey: exportPrivateKey(developer.privateKey),
      platformKey: exportPublicKey(platform.publicKey),
      tradePassword: "trade-secret",
      leaseFolder: false,
      keepLoginMs: false,
      reconnect: { minMs: 5, maxMs: 20 },
    },
    posted,
    opened,
    async [Symbol.asyncDispose]() {
      listeners.trade.close();
      listeners.quote.close();
      for (const connection of open) close(connection);
      for (let index = 0; index < running.length; index++) await running[index];
      await http.shutdown();
    },
  };
}

interface Shared {
  options: FarEndOptions;
  envelopes: Envelopes;
  opened: ("trade" | "quote")[];
}

async function serve(
  connection: Deno.TcpConn,
  kind: "trade" | "quote",
  { options, envelopes, opened }: Shared,
): Promise<void> {
  const { privateKey } = options.signsStrangely ? stranger : platform;
  // Decrypt the client's frames with the platform's own key, even if it signs with another one.
  using reading = new Sealing({ privateKey: platform.privateKey, publicKey: developer.publicKey });
  using writing = new Sealing({ privateKey, publicKey: developer.publicKey });
  const decoder = new FrameDecoder();
  const buffer = new Uint8Array(65_536);
  let serial = 0;
  const send = async (...frames: Uint8Array[]) => {
    const bytes = Buffer.concat(frames);
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  };
  const seal = (request: Request, { told, ...answer }: Answer = {}) => {
    const payload = told && { name: told[0], bytes: envelopes.messages.encode(told[0], told[1]) };
    const { type, id } = request;
    const response = { type, id, time: 0, code: "0000", text: "", ...answer, payload };
    const body = envelopes.encodeResponse(response);
    return writing.seal({ type: "response", serial: serial++, body });
  };
  try {
    for (let count; (count = await connection.read(buffer)) !== null;) {
      decoder.write(buffer.subarray(0, count));
      for (let frame; (frame = decoder.next()) !== undefined;) {
        if (frame.type === "heartbeat") {
          if (options.hangsUp?.(kind)) return close(connection);
          await send(writing.seal({ type: "heartbeat", serial: 0, body: new Uint8Array(0) }));
          continue;
        }
        const request = envelopes.decodeRequest(Uint8Array.from(reading.open(frame).body));
        if (request.type === 0) {
          opened.push(kind);
          const encryptedKey = Buffer.from(SESSION_KEY).toString("base64");
          const told: AnswerPayload = ["InitConnectResp", { encryptedKey, heartbeatIntervalSec: 30 }];
          const proper = seal(request, { told, ...options.init?.() });
          const first = options.insteadOfInit?.(developer.publicKey) ?? proper;
          await send(first, options.afterInit ?? new Uint8Array(0));
          reading.useSessionKey(SESSION_KEY);
          writing.useSessionKey(SESSION_KEY);
        } else if (request.type === 14) {
          await send(seal(request, { told: ["CommonBoolResponse", { success: true }] }));
        } else {
          await options.onCall({
            kind,
            request,
            send,
            answer: (answer) => seal(request, answer),
            frame: (plain) => writing.seal(plain),
            orderPush: (orderId) => orderPushOf(envelopes, orderId),
          });
        }
      }
    }
  } catch (error) {
    const { BadResource, BrokenPipe, ConnectionReset, Interrupted } = Deno.errors;
    if (![BadResource, BrokenPipe, ConnectionReset, Interrupted].some((each) => error instanceof each)) {
      throw error;
    }
  }
  close(connection);
}

function orderPushOf(envelopes: Envelopes, orderId: string): Uint8Array {
  const name = "TradeStockDeliverNotify";
  const plain = { fundAccount: "88001", stockCode: "00700.HK", entrustNo: orderId, entrustBs: "1" };
  const payload = { name, bytes: envelopes.messages.encode(name, plain) };
  return envelopes.encodeNotify({ type: 1, id: "1", time: PUSHED_AT, payload });
}

function listen(): Deno.TcpListener {
  return Deno.listen({ hostname: "127.0.0.1", port: 0 });
}

function addressOf({ addr }: Deno.TcpListener): string {
  return `127.0.0.1:${addr.port}`;
}

function close(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error; // closed by the client, or with the far end
  }
}
