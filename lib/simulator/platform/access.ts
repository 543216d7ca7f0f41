/**
 * Checks who may use the platform: IP addresses, devices, logins and tokens.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { Country } from "../../dictionaries/country.ts";
import type { Params } from "../../operations/operation.ts";
import type { platform } from "../../operations/platform.ts";
import { decryptSegments } from "../../wire/cipher.ts";
import type { PrivateKey } from "../../wire/keys.ts";
import type { Clock } from "../../time.ts";
import { Refusal } from "../contract.ts";
import type { PlatformCredentials } from "../endpoints/credentials.ts";

/** Options of {@linkcode Access}. */
interface AccessOptions extends PlatformCredentials {
  /** The platform's private key; passwords are encrypted with its public half. */
  privateKey: PrivateKey;
  /** IP addresses that may call; without it, all addresses may. */
  allowedIps?: readonly string[] | undefined;
  /** Bound device numbers. Without it, devices are not checked, as in the test environment. */
  boundDevices?: readonly string[] | undefined;
}

/** Checks addresses, devices and logins. */
export class Access {
  readonly #options: AccessOptions;
  readonly #devices: ReadonlySet<string> | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#devices = options.boundDevices && new Set(options.boundDevices.map(normalDevice));
  }

  /** @throws {Refusal} 1006 if only certain addresses may call, and this one is not among them. */
  demandAddress(ip: string): void {
    const { allowedIps } = this.#options;
    if (allowedIps === undefined || allowedIps.includes(ip)) return;
    throw new Refusal("1006", "the IP address is not on the whitelist");
  }

  /** @throws {Refusal} 1006 if devices are checked, and this one is not bound. */
  demandDevice(device: string): void {
    if (this.#devices === undefined || this.#devices.has(normalDevice(device))) return;
    throw new Refusal("1006", "the device is not bound");
  }

  /**
   * @throws {Refusal} 1003 if the password cannot be decrypted, 1008 if phone or password are wrong, 1006 if devices
   * are checked and this one is not bound.
   */
  demandLogin({ country, mobile, password, deviceId }: Params<typeof platform.login>): void {
    const { countryCode, mobile: phone, loginPassword } = this.#options;
    const plain = this.decrypt(password);
    if (plain === undefined) throw new Refusal("1003", "data encryption error");
    if (Country.encode(country) !== countryCode || mobile !== phone || plain !== loginPassword) {
      throw new Refusal("1008", "wrong phone or password");
    }
    this.demandDevice(deviceId);
  }

  /** Decrypts a password with the platform's key; returns `undefined` if that fails. */
  readonly decrypt = (encrypted: string): string | undefined => {
    const bytes = Buffer.from(encrypted, "base64");
    if (bytes.length === 0) return undefined;
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(
        decryptSegments(bytes, this.#options.privateKey),
      );
    } catch {
      return undefined; // another key or a truncated text: the client learns only that the login failed
    }
  };
}

/** Normalizes a device number: clients write MAC addresses with different case and separators. */
const normalDevice = (device: string) => device.toLowerCase().replaceAll(":", "-");

/** State of the newest token. */
export type TokenState = "none" | "valid" | "expired" | "displaced";

/** Options of {@linkcode Tokens}. */
interface TokensOptions {
  seed: number;
  /** How long a token is valid without a call, in milliseconds. */
  lifeMs: number;
  clock: Clock;
}

interface Entry {
  until: number;
  displaced: boolean;
}

/** The issued tokens. */
export class Tokens {
  readonly #options: TokensOptions;
  readonly #entries = new Map<string, Entry>();
  #newest: Entry | undefined;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** State of the newest token. */
  get state(): TokenState {
    return this.#newest === undefined ? "none" : this.#stateOf(this.#newest);
  }

  /** Issues a new token. The new login takes over from an older valid token; an expired token stays expired. */
  issue(): string {
    const { seed, lifeMs, clock } = this.#options;
    for (const entry of this.#entries.values()) {
      if (this.#stateOf(entry) === "valid") entry.displaced = true;
    }
    const count = this.#entries.size + 1;
    const token = createHash("sha256").update(`token ${count} of simulator ${seed}`).digest("hex");
    this.#newest = { until: clock.now() + lifeMs, displaced: false };
    this.#entries.set(token, this.#newest);
    return token;
  }

  /**
   * Throws if a token is not valid; otherwise extends it, because every call extends its token.
   *
   * @throws {Refusal} 1012 without a token, 1013 if a newer login has taken over, 1014 if it has expired or was
   * never issued.
   */
  demand(token: string): void {
    if (token === "") throw new Refusal("1012", "not logged in");
    const entry = this.#entries.get(token);
    const state = entry === undefined ? "expired" : this.#stateOf(entry);
    if (state === "displaced") throw new Refusal("1013", "displaced by another login");
    if (entry === undefined || state === "expired") throw new Refusal("1014", "login timeout");
    const { lifeMs, clock } = this.#options;
    entry.until = clock.now() + lifeMs;
  }

  /** Makes the newest token expire now. */
  expire(): void {
    if (this.#newest !== undefined) this.#newest.until = -Infinity;
  }

  /** Ends the newest token, like a login from another device that takes over. */
  displace(): void {
    if (this.#newest !== undefined) this.#newest.displaced = true;
  }

  #stateOf({ until, displaced }: Entry): "valid" | "expired" | "displaced" {
    if (displaced) return "displaced";
    return this.#options.clock.now() < until ? "valid" : "expired";
  }
}
