/**
 * Checks a key file and explains what is wrong with it. No output contains any part of a private key.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import {
  exportPublicKey,
  KEY_BITS,
  type PrivateKey,
  type PublicKey,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../../lib/wire/keys.ts";
import { shellHint } from "../../../lib/shell_words.ts";

/** One finding about a key file. */
interface KeyFinding {
  state: "ok" | "warning" | "failed";
  text: string;
  /** How to correct it. */
  advice?: string;
}

/** Result of checking a key file. */
interface KeyReport {
  /** Whether the key can be used. */
  ok: boolean;
  findings: KeyFinding[];
  /** The public key to register: Base64 of SubjectPublicKeyInfo. */
  publicKey?: string;
}

/** Content and permissions of a file. */
export interface KeyFile {
  path: string;
  bytes: Uint8Array;
  /** Permission bits; `null` if the system has none. */
  mode: number | null;
}

type Half = "private" | "public";

/** Checks a key file. */
export function examineKey({ path, bytes, mode }: KeyFile, half: Half): KeyReport {
  const findings: KeyFinding[] = [];
  const text = textOf(path, bytes, half, findings);
  const key = text === undefined ? undefined : keyOf(text, half, findings);
  const publicKey = key?.type === "private" ? publicKeyOf(key) : key;
  if (text !== undefined && key !== undefined) {
    findings.unshift({ state: "ok", text: `RSA, ${half} key, ${formOf(text, half)}` });
    findings.push(...sizeFinding(key), ...textFindings(text));
  }
  if (half === "private") findings.push(...permissionFinding(path, mode));
  return {
    ok: findings.every(({ state }) => state !== "failed"),
    findings,
    ...publicKey !== undefined && { publicKey: exportPublicKey(publicKey) },
  };
}

/** Returns the file as text, and adds findings about its encoding. `undefined` if it is empty or not text. */
function textOf(path: string, bytes: Uint8Array, half: Half, findings: KeyFinding[]): string | undefined {
  const fail = (text: string, advice: string) => void findings.push({ state: "failed", text, advice });
  const [first, second, third] = bytes;
  if (bytes.every((byte) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09)) {
    return fail(
      "the file is empty",
      half === "private" ? "Copy the key into it again, or make one: hsgate keys new" : COPY_AGAIN,
    );
  }
  if (first === 0xff && second === 0xfe || first === 0xfe && second === 0xff) {
    return fail("an editor saved it as UTF-16", "Save it again as plain text (UTF-8 or ASCII)");
  }
  if (first === 0x30 && bytes.some((byte) => byte > 0x7e)) {
    const pubin = half === "public" ? " -pubin" : "";
    return fail(
      "it is binary (DER); PEM or Base64 is needed",
      `Convert it: openssl pkey${pubin} -inform DER -in ${shellHint(path)} -out key.pem`,
    );
  }
  try {
    const hasMark = first === 0xef && second === 0xbb && third === 0xbf;
    if (hasMark) {
      findings.push({
        state: "warning",
        text: "an editor put a byte order mark in front; hsgate reads it, other programs may not",
        advice: "Save it again as plain text without the mark",
      });
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return fail("it is not text, so it is neither PEM nor Base64", "Is this the right file?");
  }
}

const COPY_AGAIN = "Copy the platform's key again from the developer page";
/** Other kinds of files: a pattern, a description, and advice if a private key is expected. */
const others: readonly (readonly [RegExp, string, string])[] = [
  [
    /-----BEGIN OPENSSH PRIVATE KEY-----/,
    "it is an OpenSSH key, in OpenSSH's own form",
    "Make a key for the broker: hsgate keys new",
  ],
  [
    /^ssh-(rsa|ed25519|dss) /,
    "it is an OpenSSH public key",
    "Make a key for the broker: hsgate keys new",
  ],
  [
    /-----BEGIN CERTIFICATE( REQUEST)?-----/,
    "it is a certificate, not a key",
    "Use the file of the key instead",
  ],
  [
    /-----BEGIN EC PRIVATE KEY-----/,
    "it is an elliptic curve key; RSA is needed",
    "Make a key for the broker: hsgate keys new",
  ],
  [
    /^PuTTY-User-Key-File/,
    "it is a PuTTY key, in PuTTY's own form",
    "Make a key for the broker: hsgate keys new",
  ],
];

/** Returns the key, or adds a finding that says why it cannot be read. */
function keyOf(text: string, half: Half, findings: KeyFinding[]): PrivateKey | PublicKey | undefined {
  const other = others.find(([pattern]) => pattern.test(text.trim()));
  if (other !== undefined) {
    findings.push({ state: "failed", text: other[1], advice: half === "private" ? other[2] : COPY_AGAIN });
    return undefined;
  }
  try {
    return half === "private" ? readPrivateKey(text) : readPublicKey(text);
  } catch (error) {
    // These messages are for users and contain no part of the key. Any other error is an internal error.
    if (!(error instanceof TypeError) || !error.message.startsWith("Cannot read ")) throw error;
    const reason = error.message.slice(error.message.indexOf(": ") + 2);
    findings.push({ state: "failed", text: reason, advice: adviceOn(reason, half) });
    return undefined;
  }
}

function adviceOn(reason: string, half: Half): string {
  if (reason.includes("password") && half === "private") {
    return "Remove the password: openssl pkey -in KEY -out new.pem, then chmod 600 new.pem";
  }
  if (reason.includes("it is a public key")) {
    return "Use the file with the private key; to check a public key add --public";
  }
  if (reason.includes("it is a private key")) {
    return "Use the platform's public key here; the platform keeps its private key";
  }
  if (reason.includes("RSA is needed") && half === "private") {
    return "Make a key for the broker: hsgate keys new";
  }
  if (reason.includes("armour")) return "Copy it again with its whole BEGIN and END lines";
  return half === "private"
    ? "Copy the key again from its source, whole; it begins with -----BEGIN PRIVATE KEY----- or MII"
    : `${COPY_AGAIN}, whole; it begins with MIG or -----BEGIN PUBLIC KEY-----`;
}

function sizeFinding({ handle, type }: PrivateKey | PublicKey): KeyFinding[] {
  const bits = handle.asymmetricKeyDetails?.modulusLength;
  if (bits === KEY_BITS) return [{ state: "ok", text: `${bits} bits, as required` }];
  return [{
    state: "failed",
    text: `${bits} bits; the protocol only allows signatures of ${KEY_BITS} bits`,
    advice: type === "private"
      ? "Make another key: hsgate keys new, and register its public key"
      : `Is this the platform's key? ${COPY_AGAIN}`,
  }];
}

/** Returns the standard that the bytes follow. Ignores the PEM label, which may be wrong. */
function formOf(text: string, half: Half): string {
  const [, label] = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(text) ?? [];
  const base64 = text.replaceAll(/-----[A-Z0-9 ]+-----|\s/g, "");
  const der = Buffer.from(base64, "base64");
  // Skip the header of the outer SEQUENCE, and in a private key the three bytes of its version number. If the key is
  // wrapped (PKCS#8 or SPKI), the next element is a SEQUENCE too.
  const at = 2 + (der[1]! >= 0x80 ? der[1]! & 0x7f : 0) + (half === "private" ? 3 : 0);
  const isWrapped = der[at] === 0x30;
  const form = half === "private" ? isWrapped ? "PKCS#8" : "PKCS#1" : isWrapped ? "SPKI" : "PKCS#1";
  const encoding = label === undefined ? "bare Base64" : "PEM";
  if (half === "private" && form === "PKCS#1") return `${form} in ${encoding} (accepted)`;
  if (label === "RSA PRIVATE KEY" && form === "PKCS#8") {
    return `${form} in PEM that calls itself "${label}" (the form that the vendor writes, accepted)`;
  }
  return `${form} in ${encoding}`;
}

/** Returns findings about changes that an editor may have made. */
function textFindings(text: string): KeyFinding[] {
  const findings: KeyFinding[] = [];
  if (text.includes("\r\n")) {
    findings.push({
      state: "warning",
      text: "it has Windows line endings (CRLF); hsgate reads it, other programs may not",
      advice: "Convert them: sed -i 's/\\r$//' FILE",
    });
  }
  const keys = text.match(/-----BEGIN /g)?.length ?? 0;
  if (keys > 1) {
    findings.push({
      state: "warning",
      text: `${keys} keys or certificates are in the file; hsgate uses the first one`,
      advice: "Keep only one key in the file",
    });
  }
  return findings;
}

function permissionFinding(path: string, mode: number | null): KeyFinding[] {
  if (mode === null) return [];
  const bits = (mode & 0o777).toString(8).padStart(3, "0");
  if ((mode & 0o077) === 0) {
    return [{ state: "ok", text: `only the owner has access to it (mode ${bits})` }];
  }
  return [{
    state: "warning",
    text: `others on this machine have access to it (mode ${bits})`,
    advice: `Run: chmod 600 ${shellHint(path)}`,
  }];
}
