// deno-lint-ignore-file no-console -- the lines of the simulator go to the console, and are caught there
/**
 * Puts an address with a secret into every argument and flag of every command. Prints the command lines whose output
 * shows the secret.
 * It is a separate process, so that it runs in a folder of its own.
 *
 * @module
 */
import type { Command } from "../../tasks/terminal/command.ts";
import { flagsOf } from "../../tasks/terminal/command.ts";
import { commands } from "../../tasks/commands/table.ts";
import { settingTable } from "../../lib/client/settings.ts";
import { cli } from "./support.ts";

/**
 * The second password is not encoded: it contains the characters that end parts of an address. The third address is
 * misspelt, and the last one has a secret in its query.
 */
const addresses = [
  "postgres://user:hunter2hunter2@127.0.0.1:1/db",
  "https://user:hun/ter2?#hun@ter2:@127.0.0.1:1/db",
  "postgres:user:hunter2#127.0.0.1",
  "http://127.0.0.1:1/?a=b&token=hunter2",
];
/** Matches parts of the passwords, also with percent signs. They must not appear in any output. */
const SECRET_PARTS = /hun(ter2|[/@]|%2f|%40)|ter2(\?|%3f)|ter2:@/i;

const realConsole = { log: console.log, error: console.error };
let said = "";
for (const name of ["log", "error", "info", "warn", "debug"] as const) {
  console[name] = (...parts: unknown[]) => void (said += `${parts.join(" ")}\n`);
}

/** Command lines of one command with the address in each position and in each flag that takes a value. */
function* linesOf(command: Command, address: string): Generator<string[]> {
  const name = command.name.split(" ");
  const [least, most] = command.args;
  const count = Math.min(most, Math.max(least, 3));
  for (let at = 0; at < count; at++) {
    for (const other of ["x", address]) {
      const args = Array.from(
        { length: Math.max(least, at + 1) },
        (_, index) => index === at ? address : other,
      );
      yield [...name, ...args];
      yield [...name, ...args, "--json"];
    }
  }
  yield [...name, ...Array.from({ length: Math.min(most, 50) + 1 }, () => address)];
  const args = Array.from({ length: least }, () => "x");
  for (const [flag, { type }] of Object.entries(flagsOf(command))) {
    yield [...name, ...args, `--${flag}=${address}`];
    if (type !== "boolean") yield [...name, ...args, `--${flag}`, address];
    if (type !== "boolean") yield [...name, ...args, `--${flag}`, `x,${address}`, `--${flag}`, address];
  }
  yield [...name, ...args, `--${address}`];
  yield [...name, ...args, `--${address}=${address}`];
  yield [...name, ...args, "--unknown", address];
  yield [...name, address, "--help"];
}

/** Flags of the simulator that this program tries, and a flag that does not exist. */
const simFlags = ["http-port", "hostname", "names", "clock", "seed", "allowed-ips", "info", "unknown"];

/** Runs a command line, and stops it after its first line or after 100 ms, because some commands run without end. */
async function run(words: readonly string[], env: Record<string, string> = {}): Promise<void> {
  const controller = new AbortController();
  said = "";
  const timer = setTimeout(() => controller.abort(), 100);
  const { out, err } = await cli(words, { env, signal: controller.signal, onLine: () => controller.abort() });
  clearTimeout(timer);
  const all = said + out + err;
  lines++;
  if (SECRET_PARTS.test(all)) {
    realConsole.log(JSON.stringify({ words, env: Object.keys(env), all: all.slice(0, 600) }));
  }
}

/** The variables of all settings, and further variables that hsgate reads. */
const variables = [
  ...Object.values(settingTable).flatMap(({ env, file }) => file ? [env, `${env}_FILE`] : [env]),
  "HSGATE_CONFIG",
  "HSGATE_TRUST_FILE",
  "HSGATE_CALENDARS",
  "HSGATE_TIMELINE",
];

let lines = 0;
for (const address of addresses) {
  for (const command of commands) {
    // `sim` gets each of these flags together with an invalid port, so that it does not start.
    if (command.name === "sim") {
      for (const flag of simFlags) {
        await run(["sim", "--http-port", "0", "--push-port", "-1", `--${flag}=${address}`]);
      }
      await run(["sim", address]);
    } else for (const words of linesOf(command, address)) await run(words);
  }
  for (
    const words of [[address], ["help", address], ["complete", address], ["complete", "run", address], [
      `--${address}`,
    ]]
  ) {
    await run(words);
  }
  for (const name of variables) {
    for (
      const words of [["doctor"], ["runs"], ["call", "account.funds", '{"market":"hk"}'], [
        "schedule",
        "--once",
      ], ["lease"]]
    ) {
      await run(words, { [name]: address });
    }
  }
}
realConsole.error(`${lines} command lines`);
