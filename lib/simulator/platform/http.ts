/**
 * Serves the platform's HTTP endpoints: login, server list, exchange rates, the level-2 switch.
 *
 * @see API document 4.7
 * @module
 */
import { Buffer } from "node:buffer";
import { type HttpRequest, mediaTypeOf } from "../../endpoints/http_input.ts";
import type { HttpAnswer } from "../../endpoints/http_server.ts";
import { operations } from "../../operations/mod.ts";
import type { AnyOperation, Params } from "../../operations/operation.ts";
import type { platform } from "../../operations/platform.ts";
import { encryptSegments } from "../../wire/cipher.ts";
import type { PublicKey } from "../../wire/keys.ts";
import { Refusal } from "../contract.ts";
import { decodeParams } from "../endpoints/calls.ts";
import type { BrokerCalls } from "../endpoints/core.ts";
import type { ShapedAnswers } from "../endpoints/shaped.ts";
import { Answered, HttpFaults, type HttpFaultsOptions, refusalOf } from "../endpoints/http_faults.ts";
import type { Access, Tokens } from "./access.ts";

/** Options of {@linkcode PlatformHttp}. */
interface PlatformHttpOptions extends Omit<HttpFaultsOptions, "expire"> {
  broker: BrokerCalls;
  tokens: Tokens;
  access: Access;
  /** The developer's public key, which encrypts tokens. */
  developerKey: PublicKey;
  /** Addresses of the two servers, `host:port`. */
  servers: () => { tradeServer: string; quoteServer: string };
  shapedAnswers: ShapedAnswers;
  /** Called with errors of the simulator itself. */
  onError: (error: unknown) => void;
}

const encoder = new TextEncoder();
const FORM = "application/x-www-form-urlencoded";
const routes = new Map(
  [...operations.values()].flatMap((operation) =>
    operation.platformPath === undefined ? [] : [[operation.platformPath, operation] as const]
  ),
);

/** Answers the platform's HTTP endpoints. */
export class PlatformHttp {
  readonly #options: PlatformHttpOptions;
  readonly #faults: HttpFaults;
  #level2 = false;
  #count = 0;

  constructor(options: PlatformHttpOptions) {
    this.#options = options;
    const { faults, sleep, tokens } = options;
    this.#faults = new HttpFaults({ faults, sleep, expire: () => tokens.expire() });
  }

  /** Whether a client has claimed the level-2 quotes. */
  get level2(): boolean {
    return this.#level2;
  }

  /** Number of executed calls. */
  get taken(): number {
    return this.#count;
  }

  /** Answers a request. Parameters are in the query or a form; the answer is `{data, respCode, respMsg}`. */
  async answer(request: HttpRequest): Promise<HttpAnswer> {
    const operation = routes.get(request.path);
    if (operation === undefined) return answerOf(404, "1009", "no such operation");
    if (request.method !== "POST") {
      return { ...answerOf(405, "1010", "the platform accepts only POST"), headers: { allow: "POST" } };
    }
    if (request.body.length > 0 && mediaTypeOf(request) !== FORM) {
      return answerOf(415, "1010", `the content type must be ${FORM}`);
    }
    try {
      return await this.#call(operation, request);
    } catch (error) {
      if (error instanceof Answered) return error.answer;
      if (error instanceof Refusal) return answerOf(200, error.code ?? "1008", error.text);
      this.#options.onError(error);
      return answerOf(200, "1001", "unknown system error");
    }
  }

  async #call(operation: AnyOperation, request: HttpRequest): Promise<HttpAnswer> {
    const { access, tokens } = this.#options;
    await this.#faults.before(operation);
    this.#strikeToken(operation);
    access.demandAddress(request.remote);
    const form = new TextDecoder().decode(request.body);
    const wire = Object.fromEntries([
      ...new URLSearchParams(request.query),
      ...new URLSearchParams(form),
    ]);
    if (operation.needs !== "nothing") tokens.demand(wire.token ?? "");
    const params = decodeParams(operation, wire);
    const seen = this.#options.shapedAnswers.http("platform", operation, params);
    if (seen !== undefined) return await this.#faults.after(operation, seen);
    const result = this.#resultOf(operation, params);
    this.#count += 1;
    const answer = answerOf(200, "0000", "success", operation.response.encode(result));
    return await this.#faults.after(operation, answer);
  }

  #strikeToken(operation: AnyOperation): void {
    const { faults, tokens } = this.#options;
    const expired = faults.strikeCall("expired-token", operation);
    if (expired !== undefined) {
      tokens.expire();
      throw refusalOf(expired, ["1014", "login timeout"]);
    }
    const displaced = faults.strikeCall("displaced-login", operation);
    if (displaced !== undefined) {
      tokens.displace();
      throw refusalOf(displaced, ["1013", "displaced by another login"]);
    }
  }

  #resultOf(operation: AnyOperation, params: unknown): unknown {
    const { broker } = this.#options;
    const own = this.#own[operation.name];
    return own === undefined ? broker.call("account.exchangeRates", params) : own(params);
  }

  readonly #own: Readonly<Record<string, (params: unknown) => unknown>> = {
    // Each handler gets the validated parameters of its own operation.
    "platform.login": (params) => this.#login(params as Params<typeof platform.login>),
    "platform.servers": () => this.#options.servers(),
    "platform.claimLevel2": () => {
      this.#level2 = true;
      return {};
    },
  };

  #login(params: Params<typeof platform.login>) {
    const { access, tokens, developerKey } = this.#options;
    access.demandLogin(params);
    const token = encryptSegments(encoder.encode(tokens.issue()), developerKey);
    return {
      nickname: "Simulated account",
      mobile: params.mobile,
      token: Buffer.from(token).toString("base64"),
    };
  }
}

/** Returns an answer of the platform. Clients use the code; the text is for people. */
export function answerOf(
  status: number,
  respCode: string,
  respMsg: string,
  data: unknown = null,
): HttpAnswer {
  return { status, body: encoder.encode(JSON.stringify({ data, respCode, respMsg })) };
}
