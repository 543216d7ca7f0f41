// deno-lint-ignore-file no-console -- a task prints to its terminal
/**
 * Writes the command `hsgate` into Deno's folder for commands, `~/.deno/bin`. With `--root DIR` or the variable
 * `DENO_INSTALL_ROOT`, writes it into the folder `bin` there. The command runs the sources in this folder, so it needs
 * no new installation after an update of the sources.
 *
 * @module
 */
import { parseArgs } from "@std/cli";
import { lastingDeno } from "./commands/deploy/lasting_deno.ts";
import { denoFlags, programPath } from "./commands/deploy/paths.ts";
import { replaceFile } from "../lib/private_files.ts";
import { shellLine } from "../lib/shell_words.ts";

/** Returns the folder in which `deno install --global` writes commands. */
function commandFolder(): string {
  const { root } = parseArgs(Deno.args, { string: ["root"] });
  const home = Deno.env.get(Deno.build.os === "windows" ? "USERPROFILE" : "HOME");
  const base = root ?? Deno.env.get("DENO_INSTALL_ROOT") ?? (home && `${home}/.deno`);
  if (base === undefined) {
    console.error('Cannot install hsgate: the home folder is not known; name a folder with "--root DIR"');
    Deno.exit(2);
  }
  return `${base}/bin`;
}

if (import.meta.main) {
  const folder = commandFolder();
  const program = programPath();
  const deno = lastingDeno({ env: (name) => Deno.env.get(name), note: console.error });
  const words = [deno, "run", "--quiet", ...denoFlags(program), program];
  await Deno.mkdir(folder, { recursive: true });
  const path = `${folder}/hsgate`;
  // Not `writeTextFile`: if a link had this name, it would write to the target of the link.
  replaceFile(
    path,
    `#!/bin/sh\n# Written by "deno task install".\nHSGATE_COMMAND=hsgate DENO_NO_UPDATE_CHECK=1 exec ${
      shellLine(words)
    } "$@"\n`,
  );
  await Deno.chmod(path, 0o755);
  console.log(`Wrote ${path}, which runs ${program} with ${deno}`);
  const paths = (Deno.env.get("PATH") ?? "").split(":");
  if (!paths.includes(folder)) {
    console.log(`Add the folder to the search path: export PATH="${folder}:$PATH"`);
  }
}
