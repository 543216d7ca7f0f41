/**
 * Who may use the platform: addresses, devices, the login itself.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { Country } from "../../dictionaries/country.ts";
import type { Params } from "../../operations/operation.ts";
import type { platform } from "../../operations/platform.ts";
import { decryptSegments } from "../../wire/cipher.ts";
import type { PrivateKey } from "../../wire/keys.ts";
import { Refusal } from "../contract.ts";
import type { PlatformCredentials } from "./credentials.ts";

/** Who may use the platform. */
export interface AccessOptions extends PlatformCredentials {
  /** The platform's private key, under whose public half passwords travel. */
  privateKey: PrivateKey;
  /** Addresses that may call; all of them without a list. */
  allowedIps?: readonly string[] | undefined;
  /** Device numbers that are bound; devices are not asked for without a list, as in the test environment. */
  boundDevices?: readonly string[] | undefined;
}

/** The gatekeeper. */
export class Access {
  readonly #options: AccessOptions;
  readonly #devices: ReadonlySet<string> | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
    this.#devices = options.boundDevices && new Set(options.boundDevices.map(normalDevice));
  }

  /** @throws {Refusal} 1006 when a list of addresses was given and this one is not on it. */
  demandAddress(ip: string): void {
    const { allowedIps } = this.#options;
    if (allowedIps === undefined || allowedIps.includes(ip)) return;
    throw new Refusal("1006", "the IP address is not on the whitelist");
  }

  /** @throws {Refusal} 1006 when devices have to be bound and this one is not. */
  demandDevice(device: string): void {
    if (this.#devices === undefined || this.#devices.has(normalDevice(device))) return;
    throw new Refusal("1006", "the device is not bound");
  }

  /** @throws {Refusal} 1003 when the password cannot be decrypted, 1008 when phone or password are wrong. */
  demandLogin({ country, mobile, password, deviceId }: Params<typeof platform.login>): void {
    const { countryCode, mobile: phone, loginPassword } = this.#options;
    const plain = this.decrypt(password);
    if (plain === undefined) throw new Refusal("1003", "data encryption error");
    if (Country.encode(country) !== countryCode || mobile !== phone || plain !== loginPassword) {
      throw new Refusal("1008", "wrong phone or password");
    }
    this.demandDevice(deviceId);
  }

  /** Decrypts a password under the platform's key; nothing when it does not fit. */
  readonly decrypt = (encrypted: string): string | undefined => {
    const bytes = Buffer.from(encrypted, "base64");
    if (bytes.length === 0) return undefined;
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(
        decryptSegments(bytes, this.#options.privateKey),
      );
    } catch {
      return undefined; // another key, a cut text: all the same to whoever logs in
    }
  };
}

/** Device numbers are compared whatever their case and separators: clients write MAC addresses in several ways. */
const normalDevice = (device: string) => device.toLowerCase().replaceAll(":", "-");
