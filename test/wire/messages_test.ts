import { assert, assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../lib/errors.ts";
import { definitionFiles } from "../../lib/wire/definitions.ts";
import { loadEnvelopes, loadMessages, MOST_FIELDS, MOST_UNLISTED } from "../../lib/wire/messages.ts";
import { randomFrom } from "../../lib/time.ts";
import { openBody, vectors } from "./vectors.ts";

const LIST = "TradeQueryHistoryFundJourListResponse";
const pushed = vectors.filter(({ kind }) => kind === "notify");

Deno.test("decodeNotify() and decode() read every push of the vendor, plain or encrypted", async () => {
  const { messages, decodeNotify } = await loadEnvelopes();
  assertEquals(pushed.length, 6);
  for (const vector of pushed) {
    const notify = decodeNotify(openBody(vector));
    assertEquals(notify.payload?.name, vector.message);
    assertEquals(
      { notifyMsgType: notify.type, notifyId: notify.id, notifyTime: notify.time },
      vector.outer,
    );
    assertEquals(messages.decode(notify.payload!.name, notify.payload!.bytes), vector.payload);
  }
});

Deno.test("decodeRequest(), decodeResponse() and decode() read all AES frames of the vendor that are not pushes", async () => {
  const { messages, decodeRequest, decodeResponse } = await loadEnvelopes();
  let count = 0;
  for (const vector of vectors) {
    if (vector.encryption !== "aes" || vector.kind === "notify") continue;
    const body = openBody(vector);
    const { payload, ...outer } = vector.kind === "request" ? decodeRequest(body) : decodeResponse(body);
    const { type, id, time, ...rest } = outer;
    const written = vector.kind === "request"
      ? { requestMsgType: type, requestId: id, requestTime: time, ...rest }
      : {
        responseMsgType: type,
        requestId: id,
        responseTime: time,
        ...("code" in rest && { responseCode: rest.code, responseMsg: rest.text }),
      };
    const shown = Object.fromEntries(
      Object.entries(written).filter(([, value]) => value !== "" && value !== 0),
    );
    assertEquals(shown, vector.outer);
    assertEquals(payload?.name ?? null, vector.message);
    if (payload !== undefined) assertEquals(messages.decode(payload.name, payload.bytes), vector.payload);
    count++;
  }
  assertEquals(count, 75);
});

Deno.test("encode() and encodeNotify() write every push as the vendor does, byte for byte", async () => {
  const { messages, encodeNotify } = await loadEnvelopes();
  for (const { message, payload, outer, plainBody } of pushed) {
    const body = encodeNotify({
      type: Number(outer!.notifyMsgType),
      id: String(outer!.notifyId),
      time: Number(outer!.notifyTime),
      payload: { name: message!, bytes: messages.encode(message!, payload!) },
    });
    assertEquals(body, plainBody);
  }
});

Deno.test("decodeNotify() names the payload by the part of the URL after the last slash", async () => {
  const { messages, decodeNotify } = await loadEnvelopes();
  for (const url of ["example.com/deep/TickerNotify", "TickerNotify", "/TickerNotify"]) {
    const body = messages.encode("PBNotify", { payload: { type_url: url, value: new Uint8Array([1, 2]) } });
    assertEquals(decodeNotify(body), {
      type: 0,
      id: "",
      time: 0,
      payload: { name: "TickerNotify", bytes: new Uint8Array([1, 2]) },
    });
  }
});

Deno.test("decodeNotify() reads an empty body as a push of type 0 without payload", async () => {
  const { decodeNotify } = await loadEnvelopes();
  assertEquals(decodeNotify(new Uint8Array(0)), { type: 0, id: "", time: 0, payload: undefined });
});

Deno.test("decode() keeps 64-bit numbers exact, and leaves out default values", async () => {
  const messages = await loadMessages();
  const plain = {
    basicQot: { security: {}, volume: "9223372036854775807", lastPrice: -0, volumeStr: "0" },
  };
  assertEquals(messages.decode("BasicQotNotify", messages.encode("BasicQotNotify", plain)), plain);
  // Field 9 (volume) and field 6 (lastPrice) with a zero that is written out.
  const zeros = new Uint8Array([0x12, 11, 0x48, 0, 0x31, 0, 0, 0, 0, 0, 0, 0, 0]);
  assertEquals(messages.decode("BasicQotNotify", zeros), { basicQot: {} });
});

Deno.test("encode() accepts 64-bit numbers as bigint, text or number", async () => {
  const messages = await loadMessages();
  // Field 7 of Ticker is `timestamp`: tag 0x38, then 300 as varint.
  for (const timestamp of [300n, "300", 300]) {
    assertEquals(messages.encode("Ticker", { timestamp }), new Uint8Array([0x38, 0xac, 0x02]));
  }
});

Deno.test("encode() accepts numbers and text for members of 32 bits, as protobuf JSON does", async () => {
  const messages = await loadMessages();
  for (const limit of [100, "100"]) {
    assertEquals(messages.encode("TickerRequest", { limit }), new Uint8Array([0x10, 100]));
  }
});

const refused: [message: string, plain: Record<string, unknown>, text: string][] = [
  ["Ticker", { prise: 1 }, "prise: expected no such member"],
  ["Ticker", { price: "1.5" }, "price: expected a number"],
  ["Ticker", { price: NaN }, "price: expected a number"],
  ["Ticker", { volume: 1.5 }, "volume: expected a whole number of 64 bits"],
  ["Ticker", { volume: 9_007_199_254_740_992 }, "volume: expected a whole number of 64 bits"],
  ["Ticker", { volume: "9223372036854775808" }, "volume: expected a whole number of 64 bits"],
  ["Ticker", { side: 2_147_483_648 }, "side: expected a whole number of 32 bits"],
  ["Ticker", { side: 1n }, "side: expected a whole number of 32 bits"],
  ["PBRequest", { requestMsgType: "5" }, "requestMsgType: expected a number of 32 bits"],
  ["Ticker", { time: 93005 }, "time: expected text"],
  ["BasicQot", { isSuspended: 1 }, "isSuspended: expected true or false"],
  ["BasicQotNotify", { basicQot: { volume: "x" } }, "basicQot.volume: expected a whole number of 64 bits"],
  ["BasicQotRequest", { security: { code: "AAPL" } }, "security: expected a list"],
  ["BasicQotRequest", { security: [{ code: "AAPL" }, { code: 1 }] }, "security.1.code: expected text"],
  ["PBNotify", { notifyTime: -1 }, "notifyTime: expected a whole number of 64 bits, not negative"],
];

for (const [message, plain, text] of refused) {
  Deno.test(`encode() rejects ${message} with ${Deno.inspect(plain, { compact: true })}`, async () => {
    const messages = await loadMessages();
    const error = assertThrows(() => messages.encode(message, plain), ProtocolError, text);
    assertEquals(error.code, "message-field");
  });
}

Deno.test("encode() does not repeat text in its errors, because it may be a password", async () => {
  const messages = await loadMessages();
  const error = assertThrows(
    () => messages.encode("TradeLoginRequest", { password: 5, authType: "0", pasword: "hunter2" }),
    ProtocolError,
  );
  assertEquals(error.message.includes("hunter2"), false);
});

Deno.test("decode() throws a ProtocolError for each of six kinds of damage", async () => {
  const messages = await loadMessages();
  const damaged: Record<string, number[]> = {
    "bad UTF-8": [0x0a, 2, 0xff, 0xfe],
    "length beyond the end": [0x0a, 5, 1],
    "wire type 7": [0x0f],
    "field number 0": [0x00, 1],
    "endless varint": [0x20, ...new Array(12).fill(0x80), 1],
    "cut in the middle of a number": [0x19, 0, 0],
  };
  for (const [name, bytes] of Object.entries(damaged)) {
    const error = assertThrows(
      () => messages.decode("Ticker", new Uint8Array(bytes)),
      ProtocolError,
      'Cannot read message "Ticker": ',
    );
    assertEquals(error.code, "message-damaged", name);
  }
});

Deno.test("decode() throws only a ProtocolError for random damage", async () => {
  const { messages, decodeNotify } = await loadEnvelopes();
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  const random = randomFrom(seed);
  let failures = 0;
  for (let round = 0; round < 3000; round++) {
    const bytes = pushed[round % pushed.length]!.plainBody.slice();
    for (let hits = 0; hits < 3; hits++) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    }
    try {
      const { payload } = decodeNotify(bytes);
      if (payload !== undefined) messages.decode(payload.name, payload.bytes);
    } catch (error) {
      assert(error instanceof ProtocolError, `seed ${seed}, round ${round}: ${error}`);
      failures++;
    }
  }
  assert(failures > 100, `only ${failures} rounds did damage`);
});

Deno.test("encode() and decode() reject a message that no file defines", async () => {
  const messages = await loadMessages();
  assertThrows(
    () => messages.decode("NoSuchNotify", new Uint8Array(0)),
    ProtocolError,
    "no file in proto/ defines it",
  );
  assertThrows(() => messages.encode("NoSuchNotify", {}), ProtocolError, "no file in proto/ defines it");
  assertEquals(messages.has("NoSuchNotify"), false);
  assertEquals(messages.has("BasicQotNotify"), true);
});

Deno.test("loadMessages() reads every message of every file", async () => {
  const messages = await loadMessages();
  const names = Object.values(definitionFiles).flatMap((text) =>
    [...text.matchAll(/^message (\w+)/gm)].map(([, name = ""]) => name)
  );
  assert(names.length > 90);
  for (const name of names) assertEquals(messages.decode(name, messages.encode(name, {})), {});
});

Deno.test("definitionFiles has an entry for every file of proto/", () => {
  const files = [...Deno.readDirSync(new URL("../../proto", import.meta.url))].map(({ name }) => name);
  assertEquals(Object.keys(definitionFiles).sort(), files.sort());
});

/** Returns the bytes of a message that consists of one field, many times. */
const repeatedField = (field: readonly number[], times: number) => {
  const bytes = new Uint8Array(field.length * times);
  for (let at = 0; at < bytes.length; at++) bytes[at] = field[at % field.length]!;
  return bytes;
};

Deno.test("decodeAll() rejects more than 100,000 fields without a definition, also those inside other messages", async () => {
  const messages = await loadMessages();
  const unlisted = [0x98, 0x06, 0x01]; // field 99, a number
  const most = repeatedField(unlisted, MOST_UNLISTED);
  const all = messages.decodeAll("CommonStringResponse", most)["#99"] as string[];
  assertEquals([all.length, all[0], all.at(-1)], [MOST_UNLISTED, "1", "1"]);
  const above = assertThrows(
    () => messages.decodeAll("CommonStringResponse", repeatedField(unlisted, MOST_UNLISTED + 1)),
    ProtocolError,
    "it has more than 100000 fields without a definition",
  );
  assertEquals(above.code, "message-damaged");
  // The fields of two rows count together. In each row, the payload has its tag, its length of two bytes and 150
  // fields.
  const row = [0x0a, 0xc2, 0x03, ...repeatedField(unlisted, 150)];
  const rows = repeatedField(row, Math.ceil((MOST_UNLISTED + 1) / 150));
  assertThrows(() => messages.decodeAll(LIST, rows), ProtocolError, "more than 100000 fields without");
  assertEquals(
    messages.decode(LIST, rows),
    messages.decode(LIST, repeatedField([0x0a, 0x00], rows.length / row.length)),
  );
});

Deno.test("reader() and decodeAll() reject a message of more than two million fields", async () => {
  const messages = await loadMessages();
  // An empty message has two bytes here.
  const rows = repeatedField([0x0a, 0x00], MOST_FIELDS + 1);
  for (const decode of [messages.reader(LIST), (bytes: Uint8Array) => messages.decodeAll(LIST, bytes)]) {
    const error = assertThrows(() => decode(rows), ProtocolError, "it has more than 2000000 fields");
    assertEquals(error.code, "message-damaged");
  }
});
