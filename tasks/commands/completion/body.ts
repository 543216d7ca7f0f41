/**
 * Runs `hsgate completion`, and prints the possible words when a completion script asks for them.
 *
 * @module
 */
import { complete } from "../../terminal/complete.ts";
import type { Command } from "../../terminal/command.ts";
import { UsageError } from "../../terminal/exit_codes.ts";
import type { Host } from "../../terminal/host.ts";
import { shellLine } from "../../../lib/shell_words.ts";
import { lastingDeno } from "../deploy/lasting_deno.ts";
import { denoFlags, programPath } from "../deploy/paths.ts";
import type { CompletionInput } from "../completion.ts";

/** Prints the completion script of a shell. */
export function run({ args: [shell = ""], flags, host }: CompletionInput): Promise<number> {
  // The cast is safe, because `hasOwn` checks that there is a script of this name.
  const script = Object.hasOwn(scripts, shell) ? scripts[shell as keyof typeof scripts] : undefined;
  if (script === undefined) {
    throw new UsageError(
      `Cannot print a script for the shell "${shell}": choose one of ${Object.keys(scripts).join(", ")}`,
    );
  }
  const deno = lastingDeno(host);
  const text = script({ ask: askLine(deno), call: callLine(deno) });
  host.out(flags.json ? JSON.stringify({ shell, script: text }) : text);
  return Promise.resolve(0);
}

/** Prevents Deno from asking its server for a newer version. */
const noUpdateCheck = ["env", "DENO_NO_UPDATE_CHECK=1"];

/**
 * Returns the command line that runs this installation. It never runs a task of the current folder, because that folder
 * may be somebody else's.
 */
function callLine(deno: string): string {
  const program = programPath();
  return shellLine([...noUpdateCheck, deno, "run", "--quiet", ...denoFlags(program), program]);
}

/** Returns the command line that prints the possible words. Its process may only read the current folder. */
function askLine(deno: string): string {
  const program = programPath();
  const [, ...config] = denoFlags(program).slice(denoFlags(program).indexOf("--config") - 1);
  const words = [
    ...noUpdateCheck,
    deno,
    "run",
    "--quiet",
    "--no-prompt",
    "--frozen",
    "--cached-only",
    "--allow-read=.",
    ...config,
    program,
    "complete",
  ];
  return shellLine(words);
}

/** Command lines that a script contains. */
interface Lines {
  /** Prints the words that may come next. */
  ask: string;
  /** Runs hsgate. */
  call: string;
}

const scripts = {
  bash: ({ ask, call }: Lines) =>
    `# Completion of hsgate for bash: source this file.
type -t hsgate >/dev/null || hsgate() { ${call} "$@"; }
_hsgate() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(${ask} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _hsgate hsgate`,
  zsh: ({ ask, call }: Lines) =>
    `# Completion of hsgate for zsh: source this file after compinit.
(( $+commands[hsgate] + $+functions[hsgate] + $+aliases[hsgate] )) || hsgate() { ${call} "$@" }
_hsgate() {
  local line
  local -a found
  for line in "\${(@f)$(${ask} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#found )); then _describe -t hsgate hsgate found; else _files; fi
}
compdef _hsgate hsgate`,
  fish: ({ ask, call }: Lines) =>
    `# Completion of hsgate for fish.
type -q hsgate; or function hsgate; ${call} $argv; end
function __hsgate_complete
  set -l found (${ask} (commandline -opc)[2..] "$(commandline -ct)" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c hsgate -f -a '(__hsgate_complete)'`,
};

/** Prints the words that may come next, each followed by a tab and its meaning. */
export async function printWords(
  commands: readonly Command[],
  words: readonly string[],
  host: Host,
): Promise<number> {
  for (const { word, text } of await complete(commands, words, namesOf)) {
    // The shell puts the word into the command line unchanged, and file names can contain anything.
    if (/^[\w-][\w.=-]*$/.test(word)) host.out(text === undefined ? word : `${word}\t${text}`);
  }
  return 0;
}

/** Default file of the store. */
const STORE = "hsgate.db";

/**
 * Returns the symbols of the orders in the store of the current folder. Makes no connection, and does not wait for
 * other processes.
 */
async function knownSymbols(): Promise<readonly string[]> {
  const [{ linkedOutside }, { symbolsOfStore }] = await Promise.all([
    import("../../../lib/confined_paths.ts"),
    import("../../../lib/store/known_symbols.ts"),
  ]);
  try {
    return linkedOutside(STORE) === undefined ? symbolsOfStore(STORE) : [];
  } catch {
    return []; // offer no symbols if the store is missing, busy or damaged
  }
}

async function namesOf(kind: string): Promise<readonly string[]> {
  if (kind === "RECIPE") return await (await import("../shared/recipe_names.ts")).recipeNames();
  if (kind === "TOPIC") return Object.keys((await import("../../terminal/topics.ts")).topics);
  if (kind === "SYMBOL") return await knownSymbols();
  if (kind !== "OPERATION" && kind !== "FAMILY") return [];
  const { catalogue, operations } = await import("../../../lib/operations/mod.ts");
  return kind === "FAMILY" ? Object.keys(catalogue) : [...operations.keys()];
}
