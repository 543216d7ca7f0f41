/**
 * Manages the platform login: one token for both connections, requested once for all waiting callers.
 *
 * @see API document 4.7, 5
 * @module
 */
import { Buffer } from "node:buffer";
import { BrokerError, ProtocolError, RejectedError } from "../../errors.ts";
import type { AnyOperation, Params } from "../../operations/operation.ts";
import { platform } from "../../operations/platform.ts";
import { describeMismatch, Mismatch } from "../../operations/types.ts";
import { decryptSegments, encryptSegments } from "../../wire/cipher.ts";
import type { PrivateKey, PublicKey } from "../../wire/keys.ts";
import { type Address, addressOf } from "../net/address.ts";
import { LoginRefusals } from "../login_refusals.ts";
import { unreadable } from "../outcome.ts";
import type { Machine } from "../../time.ts";
import type { PlatformHttp, PostLimits } from "./platform_http.ts";

/** Returns a password encrypted for the platform: RSA, then Base64. */
export function encryptForPlatform(password: string, key: PublicKey): string {
  return Buffer.from(encryptSegments(new TextEncoder().encode(password), key)).toString("base64");
}

/** A session token. */
export interface Token {
  /** The token itself. A secret. */
  readonly text: string;
  /** Number of the login that returned it, from 1. */
  readonly generation: number;
}

/** Addresses of the two servers. */
interface Servers {
  readonly trade: Address;
  readonly quote: Address;
}

/** Options of {@linkcode PlatformSession}. */
interface PlatformSessionOptions {
  http: PlatformHttp;
  login: Omit<Params<typeof platform.login>, "password"> & { password: string };
  privateKey: PrivateKey;
  platformKey: PublicKey;
  /** Milliseconds for which a token is valid after the last call. */
  tokenMs: number;
  claimLevel2: boolean;
  /** Addresses to use instead of the platform's. */
  ownServers: Partial<Servers>;
  /** Cancels the session's own requests. */
  signal: AbortSignal;
  /** Called when a login starts. */
  onLogin(): void;
  machine: Pick<Machine, "monotonic">;
}

/** A token is not used in this last part of its validity, because the request needs time to arrive. */
const MARGIN_MS = 30_000;

/**
 * After this number of consecutive unreadable first answers, a key is assumed to be wrong. Fewer prove nothing:
 * anyone on the network can inject an answer.
 */
export const MOST_UNREADABLE = 5;

/** Returns whether an error means that one of the two keys is wrong. A retry would then fail too. */
export function isKeyFault(error: unknown): boolean {
  return error instanceof ProtocolError && (error.code === "token" || error.code === "platform-key");
}

/** Manages the token and the server addresses. */
export class PlatformSession {
  readonly #options: PlatformSessionOptions;
  #token: Token | undefined;
  #generation = 0;
  /**
   * Last use of the token, on a clock that never jumps. If a wall clock were set back, an expired token would seem
   * valid.
   */
  #usedAt = 0;
  #madeAt = 0;
  #pending: Promise<Token> | undefined;
  #servers: { generation: number; servers: Promise<Servers> } | undefined;
  readonly #refusals: LoginRefusals;
  /** Number of consecutive unreadable first answers; `undefined` once an answer has shown that the keys are right. */
  #unreadable: number | undefined = 0;

  constructor(options: PlatformSessionOptions) {
    this.#options = options;
    this.#refusals = new LoginRefusals(options.machine.monotonic, "login password");
  }

  /** The error that prevents a login now; `undefined` if there is a valid token or a login is allowed. */
  get refusal(): BrokerError | undefined {
    return this.valid === undefined ? this.#refusals.current : undefined;
  }

  /** The token; `undefined` if there is no valid token. */
  get valid(): Token | undefined {
    const { machine, tokenMs } = this.#options;
    if (this.#refusals.isStopped || this.#token === undefined) return undefined;
    const idle = machine.monotonic() - this.#usedAt;
    return idle < tokenMs - Math.min(MARGIN_MS, tokenMs / 10) ? this.#token : undefined;
  }

  /**
   * Resolves to a valid token. Logs in if needed, once for all waiting callers.
   *
   * @throws {LoginRefusedError} If the platform rejected the login, now or before: permanently for a wrong
   * password, otherwise for a while.
   * @throws {ProtocolError} If the token is encrypted for another key. No further login is tried until a person allows
   * it.
   */
  token(): Promise<Token> {
    const { valid } = this;
    if (valid !== undefined) return Promise.resolve(valid);
    const refusal = this.#refusals.current;
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#pending ??= this.#logIn().finally(() => this.#pending = undefined);
  }

  /** Extends the validity of a token, because a call with it was answered. */
  touch({ generation }: Token): void {
    if (generation === this.#generation) this.#usedAt = this.#options.machine.monotonic();
  }

  /** Time since the login, in milliseconds. */
  get ageMs(): number {
    return this.#options.machine.monotonic() - this.#madeAt;
  }

  /** Returns whether this is the newest token, and no login is in progress. */
  isNewest({ generation }: Token): boolean {
    return generation === this.#generation && this.#pending === undefined;
  }

  /** Discards a token that the platform no longer accepts. */
  invalidate({ generation }: Token): void {
    if (this.#token?.generation === generation) this.#token = undefined;
  }

  /** Stops all logins, because another program has taken over the login. */
  stop(refusal: RejectedError): void {
    this.#refusals.stop(refusal);
    this.#token = undefined;
  }

  /**
   * Counts an unreadable first answer of a connection. Returns whether a key is assumed to be wrong: several
   * consecutive answers were unreadable, and no answer was ever readable.
   */
  firstAnswerFailed(): boolean {
    return this.#unreadable !== undefined && ++this.#unreadable >= MOST_UNREADABLE;
  }

  /** Records a readable first answer: the keys are right. */
  firstAnswerRead(): void {
    this.#unreadable = undefined;
  }

  /** Allows another attempt because a person asked for it. */
  allowAgain(): void {
    this.#refusals.allowAgain();
    if (this.#unreadable !== undefined) this.#unreadable = 0;
  }

  /** Resolves to the server addresses; queries them once per token. */
  servers(token: Token): Promise<Servers> {
    if (this.#servers?.generation !== token.generation) {
      const servers = this.#askServers(token);
      this.#servers = { generation: token.generation, servers };
      servers.catch(() => this.forgetServers());
    }
    return this.#servers!.servers;
  }

  /** Discards the server addresses, because they may have changed. */
  forgetServers(): void {
    this.#servers = undefined;
  }

  /** Calls an operation of the platform's HTTP interface with exactly these parameters. */
  async call(
    operation: AnyOperation,
    encoded: Readonly<Record<string, unknown>>,
    limits: PostLimits = {},
  ): Promise<unknown> {
    const context = { operation, transport: "direct" };
    const data = await this.#options.http.post(context, operation.platformPath ?? "", encoded, limits);
    try {
      return operation.response.decode(data);
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error;
      throw unreadable(context, describeMismatch(error), "unexpected-shape");
    }
  }

  async #logIn(): Promise<Token> {
    const { login, platformKey, machine, claimLevel2, signal, onLogin } = this.#options;
    onLogin();
    const password = encryptForPlatform(login.password, platformKey);
    let text: string;
    try {
      const encoded = platform.login.request.encode({ ...login, password });
      // `encode` returns an object of wire members, and `call` decodes with the operation's own type.
      const answer = await this.call(platform.login, encoded as Record<string, unknown>, { signal }) as {
        token: string;
      };
      text = this.#decryptToken(answer.token);
    } catch (error) {
      if (error instanceof BrokerError && isKeyFault(error)) throw this.#refusals.stop(error);
      throw this.#refusals.refused(error);
    }
    this.#refusals.succeeded();
    const token = { text, generation: ++this.#generation };
    this.#token = token;
    this.#usedAt = this.#madeAt = machine.monotonic();
    if (claimLevel2) await this.call(platform.claimLevel2, { token: text }, { signal });
    return token;
  }

  #decryptToken(encrypted: string): string {
    try {
      const bytes = decryptSegments(Buffer.from(encrypted, "base64"), this.#options.privateKey);
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new ProtocolError(
        "Cannot read the token of platform.login: it is not encrypted for this developer key",
        { code: "token", operation: platform.login.name, transport: "direct" },
      );
    }
  }

  async #askServers(token: Token): Promise<Servers> {
    const { trade, quote } = this.#options.ownServers;
    if (trade !== undefined && quote !== undefined) return { trade, quote };
    const { signal } = this.#options;
    // `call` decodes with the operation's own type.
    const answer = await this.call(platform.servers, { token: token.text }, { signal }) as {
      tradeServer: string;
      quoteServer: string;
    };
    this.touch(token);
    try {
      return { trade: trade ?? addressOf(answer.tradeServer), quote: quote ?? addressOf(answer.quoteServer) };
    } catch {
      throw new ProtocolError(
        "Cannot read the answer of platform.servers: no address of the form host:port",
        {
          code: "unexpected-shape",
          operation: platform.servers.name,
          transport: "direct",
        },
      );
    }
  }
}
