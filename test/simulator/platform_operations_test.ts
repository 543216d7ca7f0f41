/**
 * Tests that every operation of the sockets gives the same answer over the socket and over the gateway's HTTP, for the
 * same account. The toolkit encodes the bytes here; `foreign_client_test.ts` and `platform_test.ts` check the bytes
 * without the toolkit.
 */
import { assert, assertEquals } from "@std/assert";
import { ManualClock } from "../../lib/time.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";
import { operations } from "../../lib/operations/mod.ts";
import { type AnyOperation, encodeParams } from "../../lib/operations/operation.ts";
import { RequestType } from "../../lib/dictionaries/message_type.ts";
import { loadMessages } from "../../lib/wire/messages.ts";
import { casesOf } from "../conformance/cases.ts";
import { encryptForPlatform, logIn, REQUEST, SocketClient } from "./socket_client.ts";

const MORNING = Date.parse("2025-08-15T10:30:00+08:00");
const PASSWORD = "135790";
const KEY = "MDEyMzQ1Njc4OWFiY2RlZg==";
const ENCRYPTED = "Nh5LaY5FUfVVAl6erwj6bQ==";

/** Members of the wire that have no field on the socket, in any message. */
const GAPS = ["fare8", "fare9", "optionLongMarginAmount", "optionShortMarginAmount"];

const withoutGaps = (json: string) =>
  JSON.parse(json, (name, value) => GAPS.includes(name) ? undefined : value);

Deno.test("startSimulator() answers every operation of the sockets as the gateway does", async (t) => {
  const clock = new ManualClock(MORNING);
  await using simulator = await startSimulator({
    seed: 7,
    clock,
    gateway: { pushIntervalMs: 0, tradePassword: PASSWORD, tradePasswordKey: KEY },
    platform: { pushIntervalMs: 0 },
  });
  const { info } = simulator;
  const messages = await loadMessages();
  const token = await logIn(info);
  using trade = await SocketClient.open(info.tradeServer, info, token);
  using quote = await SocketClient.open(info.hqServer, info, token);
  const password = encryptForPlatform(info, PASSWORD);
  const login = await trade.call(REQUEST.tradeLogin, "TradeLoginRequest", [[1, password]]);
  assertEquals(login.payload.int(1), 1);
  await overHttp("/trade/TradeLogin", { password: ENCRYPTED });

  async function overHttp(path: string, params: unknown): Promise<unknown> {
    const body = JSON.stringify({ timeout_sec: 10, params });
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${info.gatewayUrl}${path}`, { method: "POST", headers, body });
    const { ok, err, data } = await response.json();
    assertEquals([ok, err], [true, ""], path);
    return data;
  }

  async function overSocket(operation: AnyOperation, params: unknown): Promise<Record<string, unknown>> {
    if ("gap" in operation.socket) {
      throw new Error(`Cannot call "${operation.wire}" over a socket: it has no socket message`);
    }
    const { request, response, requestType = operation.wire } = operation.socket;
    const wire = encodeParams(operation, params);
    for (const { wire: member, gap } of Object.values(operation.request.fields ?? {})) {
      if (gap !== undefined) delete wire[member];
    }
    const client = operation.group === "hq" ? quote : trade;
    const answer = await client.call(
      Number(RequestType.encode(requestType)),
      request,
      request === null ? [] : messages.encode(request, wire),
    );
    assertEquals([answer.code, answer.text], ["0000", "success"]);
    assertEquals(answer.name, response ?? "");
    // As the transport reads it: an absent member has its default.
    return response === null ? {} : messages.reader(response)(answer.payload.bytes);
  }

  const made: Record<string, string> = {};
  const seen = new Set<string>();
  let compared = 0;
  for (let index = 0; index < casesOf(made).length; index++) {
    const { path, ours: [name, params], wire, makes, wait } = casesOf(made)[index]!;
    const operation = operations.get(name)!;
    if ("gap" in operation.socket) {
      // Later cases need the effect of this call, so it is made over HTTP.
      if (operation.group !== null && operation.effect !== "session") {
        const data = await overHttp(path, wire) as Record<string, unknown>;
        if (makes !== undefined) made[makes] = String(data.data ?? (data.entrustId as string[])[0]);
      }
    } else {
      await t.step(name, async () => {
        const plain = await overSocket(operation, params);
        seen.add(name);
        if (makes !== undefined) made[makes] = String(plain.data);
        if (operation.effect !== "read") return;
        // KL needs a subscription, and each endpoint has its own.
        if (operation.wire === "KL") {
          await overHttp("/hq/Subscribe", { topicId: 11, security: [wire.security] });
        }
        const json = withoutGaps(JSON.stringify(await overHttp(path, wire)));
        assertEquals(operation.response.decode(plain), operation.response.decode(json));
        compared += 1;
      });
    }
    if (wait !== undefined) {
      clock.advance(wait);
      simulator.round();
    }
  }
  const carried = [...operations.values()].filter(({ socket, group }) =>
    !("gap" in socket) && group !== null
  );
  assertEquals(carried.map(({ name }) => name).filter((name) => !seen.has(name)), ["account.login"]);
  assert(compared >= 25, `${compared} were compared`);
});
