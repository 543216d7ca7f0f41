/**
 * A client for the tests of the simulated gateway, written by hand from the API document: bare fetch, and a reader
 * of push frames that shares no code with the toolkit.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { ManualClock } from "../../lib/time.ts";
import { type GatewayOptions, type SimulatedGateway, startGateway } from "../../lib/simulator/gateway/mod.ts";
import { waitUntil } from "../support/waits.ts";

/** A Friday morning in Hong Kong, in the middle of continuous trading. */
export const MORNING = Date.parse("2025-08-15T10:30:00+08:00");

/** The trade password of the simulated gateways. */
export const PASSWORD = "135790";
/** The key of the password: Base64 of "0123456789abcdef". */
export const KEY = "MDEyMzQ1Njc4OWFiY2RlZg==";
/** The password, encrypted with the key by `openssl enc -aes-128-ecb`. */
export const ENCRYPTED = "Nh5LaY5FUfVVAl6erwj6bQ==";
/** A wrong password, "999999", encrypted in the same way. */
export const ENCRYPTED_WRONG = "KDj5/xOHv8AScxitNMYQbQ==";

/** Starts a gateway that pushes only on request. Its clock is stopped. */
export async function start(
  options: Partial<GatewayOptions> = {},
): Promise<SimulatedGateway & { manual: ManualClock }> {
  const manual = new ManualClock(MORNING);
  const gateway = await startGateway({
    seed: 7,
    days: 5,
    fillsPerDay: 40,
    clock: manual,
    tradePassword: PASSWORD,
    tradePasswordKey: KEY,
    pushIntervalMs: 0,
    ...options,
  });
  return { ...gateway, manual };
}

/** An answer of the gateway with its members unchanged. */
export interface Envelope {
  ok: boolean;
  err: string;
  // deno-lint-ignore no-explicit-any -- the tests name the members that they expect
  data: any;
}

/** Sends parameters in the broker's format. */
export async function call(gateway: SimulatedGateway, path: string, params: object = {}): Promise<Envelope> {
  const response = await post(gateway, path, JSON.stringify({ timeout_sec: 10, params }));
  assertEquals(response.status, 200);
  return await response.json();
}

/** Sends any body. */
export function post(gateway: SimulatedGateway, path: string, body: BodyInit): Promise<Response> {
  return fetch(`${gateway.info.gatewayUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
}

/**
 * Sends a call on a separate connection and reads the whole answer. `fetch` cannot be used here:
 * if a connection that it had used before is closed, it sends a lost request again by itself.
 */
export async function callOnce(gateway: SimulatedGateway, path: string, params: object): Promise<string> {
  const url = new URL(gateway.info.gatewayUrl);
  const body = JSON.stringify({ timeout_sec: 10, params });
  const head =
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\n`;
  using conn = await Deno.connect({ hostname: url.hostname, port: Number(url.port) });
  await conn.write(new TextEncoder().encode(`${head}Content-Length: ${body.length}\r\n\r\n${body}`));
  return await new Response(conn.readable).text();
}

/** Logs in for trading. */
export async function login(gateway: SimulatedGateway): Promise<void> {
  const answer = await call(gateway, "/trade/TradeLogin", { password: ENCRYPTED });
  assertEquals(answer, { ok: true, err: "", data: { success: true } });
}

export const TENCENT = { dataType: 10000, code: "00700.HK" };

/** Parameters of a limit order just below the market, which is not filled. */
export async function restingOrder(gateway: SimulatedGateway): Promise<Record<string, string>> {
  const { data } = await call(gateway, "/hq/BasicQot", { security: [TENCENT] });
  return {
    exchangeType: "K",
    stockCode: "00700.HK",
    entrustAmount: "100",
    entrustPrice: `${Math.floor(data.basicQot[0].lastPrice) - 1}`,
    entrustBs: "1",
    entrustType: "3",
  };
}

/** One push, decoded without the toolkit. */
export interface Push {
  serial: number;
  /** Type number of the push, protobuf field 1. */
  notifyType: number;
  /** Time, field 3. */
  time: number;
  /** Name of the payload's message. */
  message: string;
  /** Members of the payload by their field numbers; the last one of each. */
  payload: Map<number, number | bigint | Uint8Array>;
}

/** Text of a payload's member. */
export const textOf = (push: Push, field: number): string =>
  new TextDecoder().decode(push.payload.get(field) as Uint8Array);

/** A connection to the push port. */
export class PushReader implements Disposable {
  #bytes = new Uint8Array(0);
  constructor(readonly conn: Deno.TcpConn) {}

  /** Connects, and waits until the gateway has noticed. */
  static async connect(gateway: SimulatedGateway): Promise<PushReader> {
    const [hostname = "", port] = gateway.info.pushAddress.split(":");
    const before = gateway.state().pushConnections;
    const reader = new PushReader(await Deno.connect({ hostname, port: Number(port) }));
    await waitUntil(
      "the push connection",
      () => gateway.state().pushConnections !== before,
    );
    return reader;
  }

  [Symbol.dispose](): void {
    this.conn.close();
  }

  /** Returns the next frame, or `undefined` at the end of the stream. */
  async next(): Promise<Push | undefined> {
    const head = await this.#read(151);
    if (head === undefined) return undefined;
    const view = new DataView(head.buffer);
    assertEquals(new TextDecoder().decode(head.subarray(0, 2)), "HS");
    assertEquals(view.getInt16(2, true), 3, "msgType of a push");
    assertEquals([head[4], head[5], head[142]], [0, 0, 0], "format, version, compression");
    assert(head.subarray(14, 142).every((byte) => byte === 0), "an unsigned push has a zero signature");
    const body = await this.#read(view.getInt32(10, true));
    assert(body !== undefined, "the stream ended inside a body");
    const notify = readFields(body);
    const any = readFields(notify.get(4) as Uint8Array);
    return {
      serial: view.getInt32(6, true),
      notifyType: Number(notify.get(1) ?? 0),
      time: Number(notify.get(3)),
      message: new TextDecoder().decode(any.get(1) as Uint8Array).split("/").at(-1)!,
      payload: readFields(any.get(2) as Uint8Array),
    };
  }

  /** Reads up to the end of the stream, however it ends. Returns the number of bytes. */
  async rest(): Promise<number> {
    let total = this.#bytes.length;
    const bin = new Uint8Array(65536);
    try {
      for (let count; (count = await this.conn.read(bin)) !== null;) total += count;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
    }
    return total;
  }

  async #read(length: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const bin = new Uint8Array(65536);
    while (this.#bytes.length < length) {
      const count = await this.conn.read(bin);
      if (count === null) return undefined;
      this.#bytes = new Uint8Array([...this.#bytes, ...bin.subarray(0, count)]);
    }
    const part = this.#bytes.slice(0, length);
    this.#bytes = this.#bytes.slice(length);
    return part;
  }
}

/** Decodes a protobuf message without its definition. */
export function readFields(bytes: Uint8Array): Map<number, number | bigint | Uint8Array> {
  const fields = new Map<number, number | bigint | Uint8Array>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const kind = tag & 7;
    if (kind === 0) fields.set(tag >> 3, varint());
    else if (kind === 1) {
      fields.set(tag >> 3, new DataView(bytes.buffer, bytes.byteOffset + at, 8).getFloat64(0, true));
      at += 8;
    } else {
      assertEquals(kind, 2, "wire type");
      const length = Number(varint());
      fields.set(tag >> 3, bytes.subarray(at, at + length));
      at += length;
    }
  }
  return fields;
}
