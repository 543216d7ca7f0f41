/**
 * A client for the tests of the simulated platform, written by hand from the API document and from what the vendor's
 * own client does: header, protobuf, and ciphers and signatures from `node:crypto`. It shares no code with the
 * toolkit.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  constants,
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  sign,
  verify,
} from "node:crypto";
import type { PlatformInfo } from "../../lib/simulator/platform/mod.ts";

const padding = constants.RSA_PKCS1_PADDING;

/** Numbers of requests, from the vendor's client. */
export const REQUEST = {
  initConnect: 0,
  tradeLogin: 14,
  tradeLogout: 15,
  entrust: 16,
  cancelEntrust: 17,
  holds: 18,
  sellAmount: 20,
  funds: 21,
  realEntrusts: 22,
  historyDelivers: 25,
  subscribe: 28,
  unsubscribe: 29,
  keepLogin: 1000,
  hqSubscribe: 20001,
  hqUnsubscribe: 20002,
  hqBasicQot: 20003,
  hqKL: 20007,
} as const;

/** Members of a message by their numbers: text, whole numbers, inner messages. */
export type Members = [number: number, value: string | number | Uint8Array][];

/** Writes a whole number the way protobuf does. */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}

/** Writes a message; a message that is already written stays unchanged. */
export function message(members: Members | Uint8Array): Uint8Array {
  if (members instanceof Uint8Array) return members;
  const parts = members.flatMap(([number, value]) => {
    if (typeof value === "number") return [Buffer.from([...varint(number << 3), ...varint(value)])];
    const bytes = Buffer.from(value);
    return [Buffer.from([...varint(number << 3 | 2), ...varint(bytes.length)]), bytes];
  });
  return Buffer.concat(parts);
}

/** A message that was read without its definition: every value of every member. */
export class Message {
  readonly #members = new Map<number, (number | Uint8Array)[]>();

  constructor(readonly bytes: Uint8Array) {
    let at = 0;
    const whole = () => {
      let value = 0n;
      for (let shift = 0n;; shift += 7n) {
        const byte = bytes[at++];
        assert(byte !== undefined, "a message ends inside a number");
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) return Number(BigInt.asIntN(64, value));
      }
    };
    while (at < bytes.length) {
      const tag = whole();
      let value: number | Uint8Array;
      if ((tag & 7) === 0) value = whole();
      else if ((tag & 7) === 1) {
        value = new DataView(bytes.buffer, bytes.byteOffset + (at += 8) - 8).getFloat64(0, true);
      } else {
        assertEquals(tag & 7, 2, "a wire type that these messages do not use");
        const length = whole();
        assert(at + length <= bytes.length, "a member is longer than its message");
        value = bytes.subarray(at, at += length);
      }
      this.#members.set(tag >>> 3, [...this.#members.get(tag >>> 3) ?? [], value]);
    }
  }

  /** A whole number; 0 when absent. */
  int(number: number): number {
    return Number(this.#members.get(number)?.at(-1) ?? 0);
  }

  /** A text; empty when absent. */
  text(number: number): string {
    return this.texts(number).at(-1) ?? "";
  }

  /** All texts of a list. */
  texts(number: number): string[] {
    return (this.#members.get(number) ?? []).map((value) =>
      Buffer.from(value as Uint8Array).toString("utf8")
    );
  }

  /** An inner message; `undefined` if absent. */
  inner(number: number): Message | undefined {
    return this.list(number).at(-1);
  }

  /** All inner messages of a list. */
  list(number: number): Message[] {
    return (this.#members.get(number) ?? []).map((value) => new Message(value as Uint8Array));
  }

  /** Returns whether a member is present. */
  has(number: number): boolean {
    return this.#members.has(number);
  }
}

/** A received frame, decrypted. */
export interface Arrived {
  /** 0 heartbeat, 2 answer, 3 push. */
  type: number;
  serial: number;
  /** The plain body. */
  body: Uint8Array;
  /** The whole frame. */
  bytes: Uint8Array;
}

/** A decoded answer. */
export interface Answer {
  serial: number;
  type: number;
  id: string;
  code: string;
  text: string;
  /** Name of the payload's message; empty without one. */
  name: string;
  payload: Message;
}

/** How a client behaves. */
export interface ClientOptions {
  /** Longest RSA segment. @default 100, as the vendor's client has it */
  segment?: number;
  /** Serial of the first request after InitConnect. @default 1 */
  firstSerial?: number;
  /** Pads a body. @default PKCS#7 */
  pad?: (body: Uint8Array) => Uint8Array;
}

const pkcs7 = (body: Uint8Array): Uint8Array => {
  const count = 16 - body.length % 16;
  return Buffer.concat([body, Buffer.alloc(count, count)]);
};

/** One connection to a server of the platform. */
export class SocketClient implements Disposable {
  readonly developer: KeyObject;
  readonly platform: KeyObject;
  /** Session key after InitConnect. */
  key: Uint8Array | undefined;
  /** Seconds between heartbeats, as the platform said. */
  heartbeatSec = 0;
  /** Serial of the frame that was sent last. */
  serial = 0;
  #count = 0;
  #bytes = Buffer.alloc(0);
  readonly #pushes: Arrived[] = [];

  constructor(
    readonly conn: Deno.TcpConn,
    info: PlatformInfo,
    readonly token: string,
    readonly options: ClientOptions = {},
  ) {
    this.developer = createPrivateKey(info.developerPrivateKey);
    this.platform = createPublicKey({
      key: Buffer.from(info.platformPublicKey, "base64"),
      format: "der",
      type: "spki",
    });
  }

  /** Connects and sends nothing. */
  static async connect(
    address: string,
    info: PlatformInfo,
    token: string,
    options: ClientOptions = {},
  ): Promise<SocketClient> {
    const [hostname = "", port] = address.split(":");
    return new SocketClient(await Deno.connect({ hostname, port: Number(port) }), info, token, options);
  }

  /** Connects and opens the session. */
  static async open(
    address: string,
    info: PlatformInfo,
    token: string,
    options: ClientOptions = {},
  ): Promise<SocketClient> {
    const client = await SocketClient.connect(address, info, token, options);
    await client.init();
    return client;
  }

  /** Sends InitConnect with serial 0, and stores the session key of the answer. */
  async init(device = "02-00-5e-10-00-01"): Promise<Answer> {
    await this.request(REQUEST.initConnect, "InitConnectReq", [[1, device]], { serial: 0 });
    const answer = await this.answer();
    if (answer.code === "0000") {
      this.key = Buffer.from(answer.payload.text(1), "base64");
      assertEquals(this.key.length, 16, "length of the session key");
      this.heartbeatSec = answer.payload.int(2);
      this.serial = (this.options.firstSerial ?? 1) - 1;
    }
    return answer;
  }

  /** Returns the body of a request, whose id looks like a version-1 UUID. */
  body(
    type: number,
    name: string | null,
    members: Members | Uint8Array = [],
    token = this.token,
  ): { id: string; body: Uint8Array } {
    this.#count += 1;
    const id = `5f0c2b1e-0000-11ee-8000-${String(this.#count).padStart(12, "0")}`;
    const any: Members = name === null
      ? []
      : [[4, message([[1, `type.googleapis.com/${name}`], [2, message(members)]])]];
    const number: Members = type === 0 ? [] : [[1, type]];
    return { id, body: message([...number, [2, id], [3, 1_763_625_598_000], ...any, [5, token]]) };
  }

  /** Sends a request and returns its id. */
  async request(
    type: number,
    name: string | null,
    members: Members | Uint8Array = [],
    { serial = ++this.serial, token = this.token }: { serial?: number; token?: string } = {},
  ): Promise<string> {
    const { id, body } = this.body(type, name, members, token);
    await this.write(this.frame(1, serial, body));
    return id;
  }

  /** Sends a request and waits for its answer. */
  async call(type: number, name: string | null, members: Members | Uint8Array = []): Promise<Answer> {
    const id = await this.request(type, name, members);
    const answer = await this.answer();
    assertEquals(answer.id, id, `${answer.code} ${answer.text}`);
    assertEquals(answer.serial, this.serial);
    return answer;
  }

  /** Seals a frame: RSA for serial 0, AES for the others. */
  frame(type: number, serial: number, body: Uint8Array): Uint8Array {
    return this.assemble(type, serial, sign("RSA-SHA1", body, this.developer), this.encrypt(serial, body));
  }

  /** Encrypts a body with RSA for serial 0, and with AES for the others. */
  encrypt(serial: number, body: Uint8Array): Uint8Array {
    if (serial === 0) {
      const { segment = 100 } = this.options;
      const parts: Uint8Array[] = [];
      for (let at = 0; at < body.length; at += segment) {
        parts.push(publicEncrypt({ key: this.platform, padding }, body.subarray(at, at + segment)));
      }
      return Buffer.concat(parts);
    }
    assert(this.key !== undefined, "a session key");
    const cipher = createCipheriv("aes-128-ecb", this.key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update((this.options.pad ?? pkcs7)(body)), cipher.final()]);
  }

  /** Puts a header in front of a body. */
  assemble(type: number, serial: number, signature: Uint8Array, body: Uint8Array): Uint8Array {
    const header = Buffer.alloc(151);
    header.write("HS", 0, "latin1");
    header.writeInt16LE(type, 2);
    header.writeUInt32LE(serial, 6);
    header.writeUInt32LE(body.length, 10);
    header.set(signature, 14);
    header.writeBigInt64LE(1n, 143);
    return Buffer.concat([header, body]);
  }

  /** Writes bytes unchanged. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.conn.write(bytes.subarray(at));
  }

  /** Sends a heartbeat the way the vendor's client does: a signed plain request, and a serial like any other. */
  async beat(): Promise<void> {
    const { body } = this.body(0, null);
    await this.write(this.assemble(0, ++this.serial, sign("RSA-SHA1", body, this.developer), body));
  }

  /** Waits for the next answer; pushes that come first are kept. */
  async answer(): Promise<Answer> {
    for (let frame; (frame = await this.next()) !== undefined;) {
      if (frame.type === 3) this.#pushes.push(frame);
      else {
        assertEquals(frame.type, 2, "type of the frame");
        return readAnswer(frame);
      }
    }
    throw new Error("the stream ended without an answer");
  }

  /** Waits for the next push. */
  async push(): Promise<Message> {
    const frame = this.#pushes.shift() ?? await this.next();
    assertEquals(frame?.type, 3, "type of the frame");
    return new Message(frame!.body);
  }

  /** Reads, decrypts and verifies the next frame; `undefined` at the end of the stream. */
  async next(): Promise<Arrived | undefined> {
    const bytes = await this.nextBytes();
    if (bytes === undefined) return undefined;
    const header = Buffer.from(bytes.buffer, bytes.byteOffset, 151);
    const [type, serial] = [header.readInt16LE(2), header.readUInt32LE(6)];
    const body = this.#decrypt(type, serial, bytes.subarray(151));
    if (type !== 0) {
      assert(verify("RSA-SHA1", body, this.platform, header.subarray(14, 142)), "the platform's signature");
    }
    return { type, serial, body, bytes };
  }

  /** Reads the next frame unchanged; `undefined` at the end of the stream. */
  async nextBytes(): Promise<Uint8Array | undefined> {
    if (!await this.#fill(151)) return undefined;
    const header = Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset, 151);
    assertEquals(header.toString("latin1", 0, 2), "HS");
    const length = 151 + header.readUInt32LE(10);
    if (!await this.#fill(length)) return undefined;
    const frame = this.#bytes.slice(0, length);
    this.#bytes = this.#bytes.slice(length);
    return frame;
  }

  /** Decrypts a body with the session key, and keeps its padding. */
  decryptRaw(body: Uint8Array): Uint8Array {
    assert(this.key !== undefined, "a session key");
    const cipher = createDecipheriv("aes-128-ecb", this.key, null).setAutoPadding(false);
    return Buffer.concat([cipher.update(body), cipher.final()]);
  }

  /** Reads to the end of the stream. Returns the number of bytes. */
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

  [Symbol.dispose](): void {
    this.conn.close();
  }

  #decrypt(type: number, serial: number, body: Uint8Array): Uint8Array {
    if (type === 0 || body.length === 0 || type === 3 && serial === 0) return body;
    if (serial === 0) {
      const parts: Uint8Array[] = [];
      for (let at = 0; at < body.length; at += 128) {
        parts.push(privateDecrypt({ key: this.developer, padding }, body.subarray(at, at + 128)));
      }
      return Buffer.concat(parts);
    }
    assert(this.key !== undefined, "a session key");
    const cipher = createDecipheriv("aes-128-ecb", this.key, null);
    return Buffer.concat([cipher.update(body), cipher.final()]);
  }

  async #fill(length: number): Promise<boolean> {
    const bin = new Uint8Array(256 * 1024);
    while (this.#bytes.length < length) {
      const count = await this.conn.read(bin);
      if (count === null) return false;
      this.#bytes = Buffer.concat([this.#bytes, bin.subarray(0, count)]);
    }
    return true;
  }
}

/** Reads the body of an answer. */
export function readAnswer({ serial, body }: Arrived): Answer {
  const outer = new Message(body);
  const any = outer.inner(6);
  return {
    serial,
    type: outer.int(1),
    id: outer.text(2),
    code: outer.text(4),
    text: outer.text(5),
    name: any?.text(1).split("/").at(-1) ?? "",
    payload: any?.inner(2) ?? new Message(new Uint8Array(0)),
  };
}

/** Posts a form to the platform, as the vendor's client does. */
export async function post(
  info: PlatformInfo,
  path: string,
  form: Record<string, string>,
  // deno-lint-ignore no-explicit-any -- the tests name the members that they expect
): Promise<{ data: any; respCode: string; respMsg: string }> {
  const response = await fetch(`${info.authUrl}${path}`, { method: "POST", body: new URLSearchParams(form) });
  assertEquals(response.status, 200);
  return await response.json();
}

/** Encrypts a text with the platform's key. Returns Base64. */
export function encryptForPlatform(info: PlatformInfo, text: string): string {
  const key = createPublicKey({
    key: Buffer.from(info.platformPublicKey, "base64"),
    format: "der",
    type: "spki",
  });
  return publicEncrypt({ key, padding }, Buffer.from(text)).toString("base64");
}

/** Parameters of a login. */
export function loginForm(info: PlatformInfo): Record<string, string> {
  const { countryCode, mobile, loginPassword } = info;
  return {
    countryCode,
    mobile,
    deviceNo: "02-00-5e-10-00-01",
    password: encryptForPlatform(info, loginPassword),
  };
}

/** Logs in over HTTP and returns the token, decrypted. */
export async function logIn(info: PlatformInfo): Promise<string> {
  const { data, respCode } = await post(info, "/hs/v2/login", loginForm(info));
  assertEquals(respCode, "0000");
  const key = createPrivateKey(info.developerPrivateKey);
  const token = Buffer.from(data.token, "base64");
  const parts: Uint8Array[] = [];
  for (let at = 0; at < token.length; at += 128) {
    parts.push(privateDecrypt({ key, padding }, token.subarray(at, at + 128)));
  }
  return Buffer.concat(parts).toString("utf8");
}
