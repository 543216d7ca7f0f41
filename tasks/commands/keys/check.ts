/**
 * Runs `hsgate keys check`.
 *
 * @module
 */
import { readRegular } from "../../../lib/regular_files.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { KeysCheckInput } from "../keys.ts";
import { paint } from "../../terminal/print.ts";
import { examineKey, type KeyFile } from "../doctor/key_findings.ts";

/** Largest size of a key file, bytes. */
const MOST_BYTES = 1024 * 1024;

const marks = { ok: ["ok  ", "green"], warning: ["warn", "yellow"], failed: ["FAIL", "red"] } as const;

/** Prints the findings about a key file, and returns 2 if it cannot be used. */
export async function run({ args: [path = ""], flags, host }: KeysCheckInput): Promise<number> {
  const half = flags.public === true ? "public" : "private";
  const report = examineKey(await fileOf(path), half);
  if (flags.json) {
    host.out(JSON.stringify({ file: path, ...report }));
    return report.ok ? 0 : 2;
  }
  for (const { state, text, advice } of report.findings) {
    const [mark, color] = marks[state];
    host.out(`${paint(host, color, mark)}  ${text}`);
    if (advice !== undefined) host.out(`      -> ${advice}`);
  }
  if (report.publicKey !== undefined && report.ok) {
    host.out("");
    host.out(half === "private" ? "Its public key, to register with the broker:" : "The key:");
    host.out(report.publicKey);
  }
  return report.ok ? 0 : 2;
}

async function fileOf(path: string): Promise<KeyFile> {
  try {
    const [bytes, { mode }] = await Promise.all([readRegular(path, MOST_BYTES), Deno.stat(path)]);
    if (bytes instanceof Uint8Array) return { path, bytes, mode };
    throw new UsageError(`Cannot read "${path}": ${bytes.refused}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new UsageError(`Cannot read "${path}": no such file`);
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new UsageError(`Cannot read "${path}": you have no permission to read it`);
    }
    throw error;
  }
}
