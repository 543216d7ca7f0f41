/**
 * Calls every operation of the catalogue over every transport to one account. The answers must be the same, and as the
 * API document describes. If a transport does not carry an operation, the call must fail with the reason from the
 * catalogue or from this suite.
 */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { constants, createPrivateKey, privateDecrypt } from "node:crypto";
import { type Client, DisplacedError, InvalidParamsError, UnmappedError } from "../../mod.ts";
import { operations } from "../../lib/operations/mod.ts";
import type { AnyOperation } from "../../lib/operations/operation.ts";
import type { FieldsInfo } from "../../lib/operations/types.ts";
import { encryptForPlatform } from "../simulator/socket_client.ts";
import { type Case, casesOf } from "./cases.ts";
import {
  openSimulatedAccount,
  type SimulatedAccount,
  TENCENT,
  type TestClientOptions,
  type TransportName,
  transports,
} from "./simulated_account.ts";
import { at, mismatches } from "./shapes.ts";
import { reasonOf } from "./skips.ts";

type Clients = Record<TransportName, Client>;

function operationOf(name: string): AnyOperation {
  const operation = operations.get(name);
  assert(operation !== undefined, name);
  return operation;
}

/** Calls an operation. Resolves to its answer, or to one page of it. */
function call(client: Client, name: string, params: Record<string, unknown>): Promise<unknown> {
  return client.call<unknown, unknown>(operationOf(name), params);
}

/** Removes the members that the catalogue marks as missing on the socket. */
function withoutGaps(fields: FieldsInfo, value: unknown): unknown {
  if (Array.isArray(value)) {
    // A bare list is described as the only member of its envelope.
    const row = fields.rows?.type.fields ?? fields;
    return value.map((each) => withoutGaps(row, each));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => fields[name]?.gap === undefined)
      .map(([name, each]) => [name, withoutGaps(fields[name]?.type.fields ?? fields, each)]),
  );
}

/**
 * Checks an answer with hsgate's names against the envelope that it was decoded from, and against the case's values.
 */
function checkMeaning({ same = [], is = [] }: Case, answer: unknown, data: unknown): void {
  for (const [ours, wire] of same) {
    assert(at(data, wire) !== undefined, `the answer has ${wire}`);
    assertEquals(String(at(answer, ours)), String(at(data, wire)), `${ours} is ${wire}`);
  }
  for (const [ours, value] of is) assertEquals(at(answer, ours), value, ours);
}

/** Calls operations over all transports and compares the answers. Only one transport makes the writes. */
class Comparison {
  readonly seen: Record<TransportName, Set<string>> = {
    memory: new Set(),
    gateway: new Set(),
    direct: new Set(),
  };
  readonly #testAccount: SimulatedAccount;
  readonly #clients: Clients;
  readonly #writer: TransportName;

  constructor(testAccount: SimulatedAccount, clients: Clients, writer: TransportName) {
    this.#testAccount = testAccount;
    this.#clients = clients;
    this.#writer = writer;
  }

  /** Runs a case. Resolves to its answer: over memory, or over the transport that made the write. */
  async run(each: Case): Promise<unknown> {
    const [name] = each.ours;
    const operation = operationOf(name);
    if (operation.effect === "write") return await this.#write(each);
    const { memory: answer } = await this.each(name, each.ours[1]);
    this.#checkExchange(each, answer);
    return answer;
  }

  /** Calls an operation over every transport that carries it, and compares the answers. */
  async each(
    name: string,
    params: Record<string, unknown>,
  ): Promise<Partial<Record<TransportName, unknown>>> {
    const { response, socket } = operationOf(name);
    const answers: Partial<Record<TransportName, unknown>> = {};
    for (const transport of transports) {
      if (reasonOf(operationOf(name), transport) !== undefined) continue;
      answers[transport] = await call(this.#clients[transport], name, params);
      this.seen[transport].add(name);
    }
    assertEquals(answers.gateway, answers.memory, `${name}: gateway and memory`);
    if (answers.direct !== undefined && answers.memory !== undefined) {
      const isComplete = "complete" in socket;
      const told = isComplete ? answers.memory : withoutGaps(response.fields ?? {}, answers.memory);
      assertEquals(answers.direct, told, `${name}: direct and memory`);
    }
    return answers;
  }

  /** Makes a write once, over the writing transport, or over memory if that transport does not carry it. */
  async #write(each: Case): Promise<unknown> {
    const [name, params] = each.ours;
    const cannot = reasonOf(operationOf(name), this.#writer) !== undefined;
    const transport = cannot ? "memory" : this.#writer;
    const answer = await call(this.#clients[transport], name, params);
    this.seen[transport].add(name);
    if (transport === "memory") this.#checkExchange(each, answer);
    else checkMeaning({ ...each, same: [] }, answer, undefined);
    return answer;
  }

  #checkExchange(each: Case, answer: unknown): void {
    const exchange = this.#testAccount.memory.exchanges.at(-1)!;
    assertEquals([exchange.path, exchange.params], [each.path, each.wire]);
    assertEquals([exchange.answer.ok, exchange.answer.err], [true, ""]);
    assertEquals(mismatches(exchange.answer.data, each.data), []);
    checkMeaning(each, answer, exchange.answer.data);
  }
}

async function connectAll(testAccount: SimulatedAccount, options: TestClientOptions = {}): Promise<Clients> {
  const clients = {} as Clients; // filled on the next line, one for each transport
  for (const transport of transports) clients[transport] = await testAccount.connect(transport, options);
  return clients;
}

for (const writer of transports) {
  Deno.test(`call() returns the same answers over every transport while ${writer} writes`, async (t) => {
    // The cases need the simulator's default amount of history.
    await using testAccount = await openSimulatedAccount({ days: undefined, fillsPerDay: undefined });
    const clients = await connectAll(testAccount);
    try {
      const comparison = new Comparison(testAccount, clients, writer);
      for (const transport of transports) {
        assertEquals(await clients[transport].account.login(), { success: true });
        comparison.seen[transport].add("account.login");
      }
      const made: Record<string, string> = {};
      for (let index = 0; index < casesOf(made).length; index++) {
        const each = casesOf(made)[index]!;
        const isLogout = each.ours[0] === "account.logout";
        if (isLogout) {
          await t.step(
            "operations that only one transport carries, and orders.cancelAll, return the expected answers",
            () => checkOtherOperations(comparison, testAccount, clients),
          );
        }
        await t.step(`${each.ours[0]} (${each.path})`, async () => {
          const answer = await comparison.run(each);
          if (each.makes !== undefined) {
            made[each.makes] = String(at(answer, "orderId") ?? at(answer, "0"));
          }
          if (each.wait !== undefined) {
            testAccount.clock.advance(each.wait);
            testAccount.round();
          }
        });
      }
      for (const operation of operations.values()) {
        const isWrite = operation.effect === "write";
        for (const transport of transports) {
          // Each transport writes in turn, with its own account.
          if (isWrite && transport !== writer) continue;
          const reason = reasonOf(operation, transport);
          if (reason !== undefined) {
            assert(/\w+ \w+/.test(reason), `${operation.name}, ${transport}: no reason`);
          }
          assertEquals(comparison.seen[transport].has(operation.name), reason === undefined, operation.name);
        }
      }
    } finally {
      for (const transport of transports) await clients[transport].close();
    }
  });
}

/** Checks the answers of operations that only one transport carries, and of `orders.cancelAll`. */
async function checkOtherOperations(
  comparison: Comparison,
  { simulator }: SimulatedAccount,
  clients: Clients,
): Promise<void> {
  const each = (name: string, params: Record<string, unknown> = {}) => comparison.each(name, params);
  assertEquals(await each("account.keepLogin"), { direct: { success: true } });
  const short = await each("account.shortSale", { market: "hk", symbol: "00700.HK" });
  assertEquals(short, { direct: { supported: false, interestRate: "0" } });
  assertEquals(await each("futures.resetPassword", { password: "folder-9" }), { direct: {} });
  // Only the first call has an order to cancel. The later calls have none, so their answers can be compared.
  const { orderId } = await clients.memory.orders.place({
    market: "hk",
    symbol: "00700.HK",
    quantity: "100",
    price: "550.00",
    side: "buy",
    orderType: "limit",
  });
  const cancelled = await call(clients.memory, "orders.cancelAll", { market: "hk" });
  assert(orderId !== undefined);
  assertEquals(at(cancelled, "failed"), []);
  comparison.seen.memory.add("orders.cancelAll");
  await each("orders.cancelAll", { market: "hk" });

  const { info } = simulator;
  const login = await each("platform.login", {
    country: info.countryCode,
    mobile: info.mobile,
    password: encryptForPlatform(info, info.loginPassword),
    deviceId: "aa-bb-cc-00-11-22",
  });
  const encrypted = Buffer.from(String(at(login, "direct.token")), "base64");
  const key = { key: createPrivateKey(info.developerPrivateKey), padding: constants.RSA_PKCS1_PADDING };
  const token = String(privateDecrypt(key, encrypted));
  assertEquals(await each("platform.servers", { token }), {
    direct: { tradeServer: info.tradeServer, quoteServer: info.hqServer },
  });
  assertEquals(await each("platform.claimLevel2", { token }), { direct: {} });
  // Another login of the account displaced the transport's login, so a person must log in again.
  await assertRejects(() => clients.direct.account.login(), DisplacedError);
  assertEquals(await clients.direct.account.login(), { success: true });
}

Deno.test("call() rejects an operation that a transport does not support, with the reason, and sends nothing", async () => {
  await using testAccount = await openSimulatedAccount();
  // Without a password the clients do not log in automatically; a login would be counted as sent.
  const clients = await connectAll(testAccount, { tradePassword: false });
  const { gateway, platform } = testAccount.simulator;
  const arrived =
    () => [testAccount.memory.exchanges.length, gateway.state().callsTaken, platform.state().callsTaken];
  const given = new Map<string, Record<string, unknown>>([
    ["account.shortSale", { market: "hk", symbol: "00700.HK" }],
    ["futures.resetPassword", { password: "folder-9" }],
    ["orders.cancelAll", { market: "hk" }],
    ["platform.login", { country: "CHN", mobile: "13800000000", password: "x", deviceId: "y" }],
    ["platform.servers", { token: "x" }],
    ["platform.claimLevel2", { token: "x" }],
    ["platform.openConnection", { deviceId: "y" }],
    ...casesOf(new Proxy({}, { get: () => "1" })).map(({ ours }) => ours),
  ]);
  let refused = 0;
  try {
    for (const operation of operations.values()) {
      for (const transport of transports) {
        const reason = reasonOf(operation, transport);
        if (reason === undefined) continue;
        const params = given.get(operation.name) ?? {};
        const error = await assertRejects(
          () => call(clients[transport], operation.name, params),
          UnmappedError,
        );
        assertEquals([error.operation, error.transport], [operation.name, transport]);
        const ownWords = "gap" in operation.socket ? operation.socket.gap : "opens its connections itself";
        assertStringIncludes(
          error.message,
          transport === "direct" ? ownWords : "the gateway does not have this operation",
        );
        refused++;
      }
    }
    assertEquals(arrived(), [0, 0, 0]);
    for (const transport of transports) {
      await call(clients[transport], "quotes.latest", { securities: [TENCENT] });
    }
    assert(arrived().every((count) => count > 0), `${arrived()}`);
  } finally {
    for (const transport of transports) await clients[transport].close();
  }
  // Memory and gateway: 7 operations without a path. Socket: 13 without a message, and the opening of a connection.
  assertEquals(refused, 2 * 7 + 14);
});

Deno.test("call() checks parameters before sending, over every transport", async () => {
  await using testAccount = await openSimulatedAccount();
  const sent = testAccount.count("account.maxSell");
  for (const transport of transports) {
    await using client = await testAccount.connect(transport);
    const wrong = { market: "mars", symbol: "" };
    const error = await assertRejects(() => call(client, "account.maxSell", wrong), InvalidParamsError);
    assertEquals(error.issues.map(({ path }) => path.join(".")), ["market", "symbol"]);
  }
  assertEquals([sent(), testAccount.memory.exchanges], [0, []]);
});
