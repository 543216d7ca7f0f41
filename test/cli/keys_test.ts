/** Tests of `hsgate keys new` and `hsgate keys check`; other forms of keys come from node-forge and node:crypto. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { exportPublicKey, publicKeyOf, readPrivateKey } from "../../lib/wire/keys.ts";
import { cli, folder } from "./support.ts";

const developer = generateKeyPairSync("rsa", { modulusLength: 1024 });
const pem = (key: KeyObject, type: "pkcs1" | "pkcs8" | "spki") => String(key.export({ type, format: "pem" }));
const PRIVATE = pem(developer.privateKey, "pkcs8");
const REGISTERED = developer.publicKey.export({ type: "spki", format: "der" }).toString("base64");

/** Writes a key to a file and checks it. */
async function check(content: string | Uint8Array, { mode = 0o600, flags = [] as string[] } = {}) {
  await using dir = await folder();
  const path = `${dir.path}/key`;
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  await Deno.writeFile(path, bytes, { mode });
  await Deno.chmod(path, mode);
  const { code, out, err } = await cli(["keys", "check", path, "--json", ...flags]);
  assertEquals(err, "");
  const report: {
    ok: boolean;
    publicKey?: string;
    findings: { state: string; text: string; advice?: string }[];
  } = JSON.parse(out);
  assertEquals(report.ok, code === 0);
  const lines = report.findings.map(({ state, text }) => `${state}: ${text}`);
  // No output contains any part of a private key.
  assertEquals(out.includes("PRIVATE KEY-----\\n") || out.includes(PRIVATE.split("\n")[2]!), false);
  return {
    code,
    lines,
    publicKey: report.publicKey,
    advice: report.findings.map(({ advice }) => advice ?? ""),
  };
}

Deno.test("keys new writes a pair that only its owner can read, and prints the public key to register", async () => {
  await using dir = await folder();
  const { code, out, err } = await cli(["keys", "new", "--out", `${dir.path}/new`, "--json"]);
  assertEquals({ code, err }, { code: 0, err: "" });
  const { privateKeyFile, publicKeyFile, publicKey } = JSON.parse(out);
  assertEquals(privateKeyFile, `${dir.path}/new/developer_private.pem`);
  const text = await Deno.readTextFile(privateKeyFile);
  assert(text.startsWith("-----BEGIN PRIVATE KEY-----\n"));
  const key = readPrivateKey(text);
  assertEquals(key.length, 128);
  assertEquals(exportPublicKey(publicKeyOf(key)), publicKey);
  assertEquals(await Deno.readTextFile(publicKeyFile), `${publicKey}\n`);
  assertEquals((await Deno.stat(privateKeyFile)).mode! & 0o777, 0o600);
  assertEquals(out.includes("PRIVATE KEY"), false);
});

Deno.test("keys new says what to do with the keys", async () => {
  await using dir = await folder();
  const { code, out } = await cli(["keys", "new", "--out", dir.path]);
  assertEquals(code, 0);
  assertStringIncludes(out, "Register the public key");
  assertStringIncludes(out, `HSGATE_DEVELOPER_PRIVATE_KEY_FILE=${dir.path}/developer_private.pem`);
  const registered = (await Deno.readTextFile(`${dir.path}/developer_public.txt`)).trim();
  assertStringIncludes(out, `\n${registered}\n`);
});

for (const name of ["developer_private.pem", "developer_public.txt"]) {
  Deno.test(`keys new never overwrites ${name}, and leaves no single file of a pair`, async () => {
    await using dir = await folder();
    await Deno.writeTextFile(`${dir.path}/${name}`, "what was there");
    const { code, out, err } = await cli(["keys", "new", "--out", dir.path]);
    assertEquals({ code, out }, { code: 2, out: "" });
    assertStringIncludes(err, `${name}": it exists already, and keys are never overwritten`);
    assertEquals(await Deno.readTextFile(`${dir.path}/${name}`), "what was there");
    assertEquals((await Array.fromAsync(Deno.readDir(dir.path))).length, 1);
  });
}

Deno.test("keys check finds nothing wrong with a good key, and prints its public key", async () => {
  const { code, lines, publicKey } = await check(PRIVATE);
  assertEquals([code, publicKey], [0, REGISTERED]);
  assertEquals(lines, [
    "ok: RSA, private key, PKCS#8 in PEM",
    "ok: 1024 bits, as required",
    "ok: only the owner has access to it (mode 600)",
  ]);
});

const fine: [string, string, string][] = [
  ["PKCS#1", pem(developer.privateKey, "pkcs1"), "PKCS#1 in PEM (accepted)"],
  ["bare Base64", PRIVATE.replaceAll(/-----.*-----|\n/g, ""), "PKCS#8 in bare Base64"],
  [
    "the vendor's armour around PKCS#8",
    PRIVATE.replaceAll("PRIVATE KEY", "RSA PRIVATE KEY"),
    'PKCS#8 in PEM that calls itself "RSA PRIVATE KEY" (the form that the vendor writes, accepted)',
  ],
];
for (const [what, text, form] of fine) {
  Deno.test(`keys check accepts ${what}`, async () => {
    const { code, lines, publicKey } = await check(text);
    assertEquals([code, publicKey], [0, REGISTERED]);
    assertEquals(lines[0], `ok: RSA, private key, ${form}`);
  });
}

const big = generateKeyPairSync("rsa", { modulusLength: 2048 });
const curve = generateKeyPairSync("ec", { namedCurve: "P-256" });
const locked = String(developer.privateKey.export({
  type: "pkcs8",
  format: "pem",
  cipher: "aes-256-cbc",
  passphrase: "hunter2",
}));
const utf16 = new Uint8Array(
  new Uint16Array([0xfeff, ...PRIVATE].map((each) => typeof each === "string" ? each.charCodeAt(0) : each))
    .buffer,
);

const wrong: [what: string, content: string | Uint8Array, line: string, advice: string][] = [
  ["an empty file", "\n", "the file is empty", "keys new"],
  ["something that is not a key", "hello, world", "it is neither PEM nor Base64", "Copy the key again"],
  ["a picture", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0xff]), "it is not text", "Is this the right file?"],
  [
    "DER",
    developer.privateKey.export({ type: "pkcs8", format: "der" }),
    "it is binary (DER)",
    "openssl pkey",
  ],
  ["UTF-16", utf16, "an editor saved it as UTF-16", "Save it again"],
  ["an encrypted key", locked, "it is protected by a password", "Remove the password"],
  ["the public half", pem(developer.publicKey, "spki"), "it is a public key", "add --public"],
  ["a key of 2048 bits", pem(big.privateKey, "pkcs8"), "2048 bits; the protocol", "keys new"],
  ["an elliptic curve", pem(curve.privateKey, "pkcs8"), 'it is a key for "ec"; RSA is needed', "keys new"],
  [
    "a certificate",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "it is a certificate",
    "Use the file of the key",
  ],
  [
    "an OpenSSH key",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n",
    "it is an OpenSSH key",
    "keys new",
  ],
  [
    "a key cut short",
    PRIVATE.slice(0, 300),
    "its PEM armour is damaged",
    "BEGIN and END lines",
  ],
  [
    "a key with a part missing",
    PRIVATE.split("\n").toSpliced(3, 2).join("\n"),
    "it is neither PKCS#8 nor PKCS#1, or it is damaged",
    "Copy the key again",
  ],
];
for (const [what, content, line, advice] of wrong) {
  Deno.test(`keys check says that ${what} cannot be used, and what to do`, async () => {
    const found = await check(content);
    assertEquals(found.code, 2);
    const at = found.lines.findIndex((each) => each.startsWith("failed: "));
    assertStringIncludes(found.lines[at]!, line);
    assertStringIncludes(found.advice[at]!, advice);
  });
}

const wrongPublic: [what: string, content: string | Uint8Array, line: string, advice: string][] = [
  ["an empty file", "\n", "the file is empty", "Copy the platform's key again"],
  ["the private half", PRIVATE, "it is a private key", "Use the platform's public key here"],
  ["an encrypted private key", locked, "it is protected by a password", "Copy the platform's key again"],
  [
    "a certificate",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    "it is a certificate",
    "Copy the platform's key again",
  ],
  ["an OpenSSH key", "ssh-rsa AAAA me@here", "it is an OpenSSH public key", "Copy the platform's key again"],
  ["an elliptic curve", pem(curve.publicKey, "spki"), "RSA is needed", "Copy the platform's key again"],
  [
    "a key of 2048 bits",
    pem(big.publicKey, "spki"),
    "2048 bits; the protocol",
    "Copy the platform's key again",
  ],
  [
    "something that is not a key",
    "hello, world",
    "it is neither PEM nor Base64",
    "Copy the platform's key again",
  ],
];
for (const [what, content, line, advice] of wrongPublic) {
  Deno.test(`keys check --public gives advice about the platform's key for ${what}`, async () => {
    const found = await check(content, { flags: ["--public"] });
    assertEquals(found.code, 2);
    const at = found.lines.findIndex((each) => each.startsWith("failed: "));
    assertStringIncludes(found.lines[at]!, line);
    assertStringIncludes(found.advice[at]!, advice);
    assert(!found.advice.some((each) => each.includes("keys new")));
  });
}

const odd: [what: string, content: string, mode: number, line: string][] = [
  ["others can read it", PRIVATE, 0o644, "others on this machine have access to it (mode 644)"],
  [
    "it has Windows line endings",
    PRIVATE.replaceAll("\n", "\r\n"),
    0o600,
    "it has Windows line endings (CRLF)",
  ],
  ["it has a byte order mark", `\ufeff${PRIVATE}`, 0o600, "an editor put a byte order mark in front"],
  ["two keys are in the file", PRIVATE + PRIVATE, 0o600, "2 keys or certificates are in the file"],
];
for (const [what, content, mode, line] of odd) {
  Deno.test(`keys check warns when ${what}, and the key can be used`, async () => {
    const { code, lines, publicKey } = await check(content, { mode });
    assertEquals([code, publicKey], [0, REGISTERED]);
    assertEquals(lines.some((each) => each.startsWith(`warning: ${line}`)), true, lines.join("\n"));
  });
}

Deno.test("keys check --public checks the platform's key, and rejects a private one", async () => {
  const good = await check(REGISTERED, { mode: 0o644, flags: ["--public"] });
  assertEquals([good.code, good.publicKey], [0, REGISTERED]);
  assertEquals(good.lines, [
    "ok: RSA, public key, SPKI in bare Base64",
    "ok: 1024 bits, as required",
  ]);
  const { code, lines } = await check(PRIVATE, { flags: ["--public"] });
  assertEquals([code, lines], [2, ["failed: it is a private key; the public one is needed"]]);
});

Deno.test("keys check reports a missing file and a folder", async () => {
  await using dir = await folder();
  const missing = await cli(["keys", "check", `${dir.path}/none`]);
  assertEquals(missing.code, 2);
  assertStringIncludes(missing.err, "no such file");
  const isFolder = await cli(["keys", "check", dir.path]);
  assertEquals(isFolder.code, 2);
  assertStringIncludes(isFolder.err, "it is a folder");
});
