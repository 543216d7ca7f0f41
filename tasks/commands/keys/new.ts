/**
 * Runs `hsgate keys new`.
 *
 * @module
 */
import { exportPrivateKey, exportPublicKey, generateKeyPair, KEY_BITS } from "../../../lib/wire/keys.ts";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "../../../lib/private_files.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { KeysNewInput } from "../keys.ts";

const PRIVATE_NAME = "developer_private.pem";
const PUBLIC_NAME = "developer_public.txt";

/** Creates a key pair and writes it to two new files. */
export async function run({ flags, host }: KeysNewInput): Promise<number> {
  const folder = (flags.out ?? ".").replace(/(.)\/+$/, "$1");
  await Deno.mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const { privateKey, publicKey } = generateKeyPair();
  const [privateKeyFile, publicKeyFile] = [`${folder}/${PRIVATE_NAME}`, `${folder}/${PUBLIC_NAME}`];
  const registered = exportPublicKey(publicKey);
  await writeNew(privateKeyFile, exportPrivateKey(privateKey), PRIVATE_FILE);
  try {
    await writeNew(publicKeyFile, `${registered}\n`, PRIVATE_FILE);
  } catch (error) {
    await Deno.remove(privateKeyFile); // just created, and useless without the other file
    throw error;
  }
  if (flags.json) {
    host.out(JSON.stringify({ privateKeyFile, publicKeyFile, publicKey: registered }));
    return 0;
  }
  const lines = [
    `Private key  ${privateKeyFile} (RSA, ${KEY_BITS} bits, PKCS#8; only you can read it)`,
    `Public key   ${publicKeyFile}`,
    "",
    registered,
    "",
    "What to do with the keys",
    "  1. Register the public key, the line above, on the broker's developer page.",
    "  2. Keep the private key where it is: whoever has it can sign orders. Never send",
    "     it to anybody, and never put it into a repository.",
    "  3. Tell hsgate where it is:",
    `       HSGATE_DEVELOPER_PRIVATE_KEY_FILE=${privateKeyFile}`,
    `     or in hsgate.yaml: developerPrivateKeyFile: ${privateKeyFile}`,
    "  4. The platform's own public key comes from that page too:",
    "       HSGATE_PLATFORM_PUBLIC_KEY_FILE, or platformPublicKeyFile.",
    '  5. Run "hsgate doctor --transport direct".',
  ];
  for (const line of lines) host.out(line);
  return 0;
}

/** Writes a new file, which has its permissions from the start. */
async function writeNew(path: string, text: string, mode: number): Promise<void> {
  try {
    await Deno.writeTextFile(path, text, { createNew: true, mode });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new UsageError(
      `Cannot write "${path}": it exists already, and keys are never overwritten; ` +
        "move it away or name another folder with --out",
    );
  }
}
