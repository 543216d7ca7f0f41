/**
 * The login at the platform: one token for both connections, made once for all who wait.
 *
 * @see API document 4.7, 5
 * @module
 */
import { Buffer } from "node:buffer";
import { BrokerError, ProtocolError, RejectedError } from "../../errors.ts";
import type { AnyOperation, Params } from "../../operations/operation.ts";
import { platform } from "../../operations/platform.ts";
import { Mismatch } from "../../operations/types.ts";
import { decryptSegments, encryptSegments } from "../../wire/cipher.ts";
import type { PrivateKey, PublicKey } from "../../wire/keys.ts";
import { type Address, addressOf } from "../address.ts";
import { describeMismatch } from "../json.ts";
import { LoginRefusals } from "../login_refusals.ts";
import { unreadable } from "../outcome.ts";
import type { World } from "./options.ts";
import type { PlatformHttp, PostLimits } from "./platform_http.ts";

/** Encrypts a password for the platform: RSA, then Base64. */
export function encryptForPlatform(password: string, key: PublicKey): string {
  return Buffer.from(encryptSegments(new TextEncoder().encode(password), key)).toString("base64");
}

/** A session token. */
export interface Token {
  /** The token itself. A secret. */
  readonly text: string;
  /** Counts the logins of this program. */
  readonly generation: number;
}

/** Addresses of the two servers. */
export interface Servers {
  readonly trade: Address;
  readonly quote: Address;
}

/** Options of {@linkcode PlatformSession}. */
export interface PlatformSessionOptions {
  http: PlatformHttp;
  login: Omit<Params<typeof platform.login>, "password"> & { password: string };
  privateKey: PrivateKey;
  platformKey: PublicKey;
  /** How long a token is good for without a call. */
  tokenMs: number;
  claimLevel2: boolean;
  /** Addresses that count before those that the platform says. */
  ownServers: Partial<Servers>;
  /** Ends what the session asks for by itself. */
  signal: AbortSignal;
  /** A login begins. */
  onLogin(): void;
  world: Pick<World, "monotonic">;
}

/** A token this close to its end is not used any more, as the request has a way to go. */
const MARGIN_MS = 30_000;

/** Whether a key of ours is the wrong one. It is so the next time as well, so nothing is tried again. */
export function isKeyFault(error: unknown): boolean {
  return error instanceof ProtocolError && (error.code === "token" || error.code === "platform-key");
}

/** Keeps the token. */
export class PlatformSession {
  readonly #options: PlatformSessionOptions;
  #token: Token | undefined;
  #generation = 0;
  /** Last use of the token, on the clock that never jumps: a wall clock set back would keep a dead token alive. */
  #usedAt = 0;
  #madeAt = 0;
  #pending: Promise<Token> | undefined;
  #servers: { generation: number; servers: Promise<Servers> } | undefined;
  readonly #refusals: LoginRefusals;

  constructor(options: PlatformSessionOptions) {
    this.#options = options;
    this.#refusals = new LoginRefusals(options.world.monotonic, "login password");
  }

  /** Why no login is tried now; nothing when there is a token, or one may be asked for. */
  get refusal(): BrokerError | undefined {
    return this.valid === undefined ? this.#refusals.current : undefined;
  }

  /** The token, if there is one that is still good. */
  get valid(): Token | undefined {
    const { world, tokenMs } = this.#options;
    if (this.#refusals.isStopped || this.#token === undefined) return undefined;
    const idle = world.monotonic() - this.#usedAt;
    return idle < tokenMs - Math.min(MARGIN_MS, tokenMs / 10) ? this.#token : undefined;
  }

  /**
   * Resolves to a token, and logs in for it where that is needed, once for all who wait.
   *
   * @throws {LoginRefusedError} When the platform refuses, now or before: the password for good, or for a while.
   * @throws {ProtocolError} When the token is encrypted for another key; neither is it asked again then.
   */
  token(): Promise<Token> {
    const { valid } = this;
    if (valid !== undefined) return Promise.resolve(valid);
    const refusal = this.#refusals.current;
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.#pending ??= this.#logIn().finally(() => this.#pending = undefined);
  }

  /** A call was answered with this token: its time starts again. */
  touch({ generation }: Token): void {
    if (generation === this.#generation) this.#usedAt = this.#options.world.monotonic();
  }

  /** How long ago the token was made, milliseconds. */
  get ageMs(): number {
    return this.#options.world.monotonic() - this.#madeAt;
  }

  /** Whether this is the newest token, and no newer one is on its way. */
  isNewest({ generation }: Token): boolean {
    return generation === this.#generation && this.#pending === undefined;
  }

  /** The platform does not take this token any more. */
  invalidate({ generation }: Token): void {
    if (this.#token?.generation === generation) this.#token = undefined;
  }

  /** Nobody logs in any more: the account is somebody else's now, or the password is wrong. */
  stop(refusal: RejectedError): void {
    this.#refusals.stop(refusal);
    this.#token = undefined;
  }

  /** A person wants to try again. */
  allowAgain(): void {
    this.#refusals.allowAgain();
  }

  /** Resolves to the servers; asked for once for each token. */
  servers(token: Token): Promise<Servers> {
    if (this.#servers?.generation !== token.generation) {
      const servers = this.#askServers(token);
      this.#servers = { generation: token.generation, servers };
      servers.catch(() => this.forgetServers());
    }
    return this.#servers!.servers;
  }

  /** The servers may have moved. */
  forgetServers(): void {
    this.#servers = undefined;
  }

  /** Calls what the platform answers over HTTP; adds nothing to the parameters. */
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
    const { login, platformKey, world, claimLevel2, signal, onLogin } = this.#options;
    onLogin();
    const password = encryptForPlatform(login.password, platformKey);
    let text: string;
    try {
      const encoded = platform.login.request.encode({ ...login, password });
      // `encode` of parameters makes an object of wire members, and `call` decodes with the operation's own type.
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
    this.#usedAt = this.#madeAt = world.monotonic();
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
    // As above: decoded with the operation's own type.
    const { signal } = this.#options;
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
