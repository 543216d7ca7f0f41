#!/usr/bin/env node
// deno-lint-ignore-file no-console -- a command prints to its terminal
/**
 * The command `hsgate` of the npm package. Starts the toolkit in the package with Deno and the permissions of the task
 * `hsgate` in its `deno.json`.
 *
 * The command runs a copy of the toolkit and of Deno in the user's data folder. `hsgate init`, `hsgate deploy` and
 * `hsgate completion` write paths of hsgate and of Deno into files, and a package manager may empty its cache or
 * replace a package at any time.
 *
 * Runs with Node.js, and with Deno, which then also runs the toolkit.
 *
 * @module
 */
import { spawn } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, sep } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { version, build } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const require = createRequire(import.meta.url);

/** Ends the program with a message. */
function fail(message) {
  console.error(`hsgate: ${message}`);
  process.exit(1);
}

/** Returns the path of Deno. If Node.js runs this program, returns the Deno of the npm package `deno`. */
function denoPath() {
  if (process.versions.deno !== undefined) return process.execPath;
  try {
    return require("deno/install_api.cjs").runInstall();
  } catch (error) {
    fail(
      `Cannot start Deno: the npm package "deno" is incomplete (${
        error.message.split("\n")[0]
      }); install hsgate again ` +
        "without --omit=optional, or install Deno 2.9 or later and run the command with it",
    );
  }
}

/** Returns the folder of this version in the user's data folder. */
function dataFolder() {
  const { LOCALAPPDATA, XDG_DATA_HOME } = process.env;
  const data = XDG_DATA_HOME !== undefined && isAbsolute(XDG_DATA_HOME)
    ? XDG_DATA_HOME
    : process.platform === "win32"
    ? LOCALAPPDATA ?? join(homedir(), "AppData", "Local")
    : process.platform === "darwin"
    ? join(homedir(), "Library", "Application Support")
    : join(homedir(), ".local", "share");
  return join(data, "hsgate", `${version}-${build}`);
}

/** Rejects a folder that another user could change, because hsgate runs the code in it. */
function checkOwner(folder) {
  if (process.platform === "win32") return;
  const { uid, mode } = lstatSync(folder);
  if (uid === process.getuid() && (mode & 0o022) === 0) return;
  fail(`Cannot run hsgate from "${folder}": another user can write into it; remove it, then try again`);
}

/**
 * Copies a file or a folder into the data folder, unless the copy exists. A copy appears complete or not at all.
 *
 * @returns Whether the copy is new.
 */
function copied(from, to) {
  const exists = () => lstatSync(to, { throwIfNoEntry: false }) !== undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    checkOwner(folder);
    if (exists()) return false;
    const part = `${to}.${process.pid}`;
    if (lstatSync(from).isDirectory()) cpSync(from, part, { recursive: true });
    else linkOrCopy(from, part);
    try {
      renameSync(part, to);
    } catch (error) {
      rmSync(part, { recursive: true, force: true });
      if (!exists()) throw error; // another process may have been faster
    }
    return true;
  } catch (error) {
    fail(
      `Cannot copy hsgate into "${folder}", where the command runs: ${error.message}; set XDG_DATA_HOME to a folder that ` +
        "you can write to",
    );
  }
}

/** Links a file, because a link takes no space. Copies it if a link is not possible, as on another file system. */
function linkOrCopy(from, to) {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
    chmodSync(to, 0o755);
  }
}

/**
 * Returns the environment variable with the command that starts this program; hints show this command. Returns no
 * variable if npm has the program only in its cache.
 */
function commandName() {
  if (process.env.npm_command !== "exec") return { HSGATE_COMMAND: "hsgate" };
  return root.split(sep).includes("_npx") ? {} : { HSGATE_COMMAND: "npx hsgate" };
}

const folder = dataFolder();
const toolkit = join(folder, "toolkit");
let deno = denoPath();
if (copied(join(root, "toolkit"), toolkit)) console.error(`hsgate: copied version ${version} to "${folder}"`);
// A Deno outside node_modules belongs to the user and is used where it is, without a copy.
if (deno.split(sep).includes("node_modules")) {
  const copy = join(folder, basename(deno));
  copied(deno, copy);
  deno = copy;
}

const config = join(toolkit, "deno.json");
const words = JSON.parse(readFileSync(config, "utf8")).tasks.hsgate.command.split(" ");
const program = words.findIndex((word) => word.endsWith(".ts"));
const flags = words.slice(words.indexOf("run") + 1, program);
const child = spawn(
  deno,
  ["run", "--quiet", ...flags, "--config", config, join(toolkit, words[program]), ...process.argv.slice(2)],
  { stdio: "inherit", env: { ...process.env, DENO_NO_UPDATE_CHECK: "1", ...commandName() } },
);
child.on("error", (error) => fail(`Cannot start Deno at "${deno}": ${error.message}`));
// A terminal sends its signals to the child too. If this program also sent them, the child would end at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
