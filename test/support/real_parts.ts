// deno-lint-ignore-file no-console -- it is a program of its own
/**
 * Prints which real parts, such as PostgreSQL, the tests can use on this machine, and how to provide the missing ones.
 * Tests that need a missing part are left out.
 *
 * @module
 */
import { findPostgres } from "./postgres.ts";
import { hasProgram } from "./programs.ts";

/** Returns whether this process may mount a small file system; tests fill it up. */
async function canMount(): Promise<boolean> {
  const path = await Deno.makeTempDir({ prefix: "hsgate-parts-" });
  try {
    const args = ["-t", "tmpfs", "-o", "size=1m", "tmpfs", path];
    if (!await hasProgram("mount")) return false;
    if (!(await new Deno.Command("mount", { args, stderr: "null" }).output()).success) return false;
    await new Deno.Command("umount", { args: [path] }).output();
    return true;
  } finally {
    await Deno.remove(path);
  }
}

/** Returns one line for each part. */
export async function realParts(): Promise<string[]> {
  const line = (part: string, isThere: boolean, how: string) =>
    isThere ? `tests run with ${part}` : `tests run without ${part}: those that need it are left out; ${how}`;
  const postgres = await findPostgres();
  return [
    postgres === undefined
      ? line(
        "PostgreSQL",
        false,
        "start one on this machine, or set HSGATE_TEST_POSTGRES=postgres://user@host/database",
      )
      : `tests run with PostgreSQL at ${withoutPassword(postgres)}`,
    line("systemd-analyze", await hasProgram("systemd-analyze"), "install the package systemd"),
    line("small disks that fill up", await canMount(), "run the tests as root, with the right to mount"),
    line("zsh", await hasProgram("zsh"), "install it"),
    line("fish", await hasProgram("fish"), "install it"),
    line("strace", await hasProgram("strace"), "install it"),
    line("Python 3", await hasProgram("python3"), "install it"),
  ];
}

function withoutPassword(text: string): string {
  const url = new URL(text);
  url.password = "";
  return url.href;
}

if (import.meta.main) { for (const line of await realParts()) console.log(line); }
