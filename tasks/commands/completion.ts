/** Description of `hsgate completion`. @module */
import { command, type Input, offline } from "../terminal/command.ts";

/** Arguments and flags of the command. */
export type CompletionInput = Input<Record<never, never>>;

/** Prints a script with which a shell completes the command line. */
export const completion = command({
  name: "completion",
  summary: "print a script that completes this command line in your shell",
  usage: "bash|zsh|fish",
  args: [1, 1],
  details: `The script completes commands, flags and their values, help topics, recipes of the
folder "recipes", operations, and the symbols of orders in the store hsgate.db of the current
folder. It makes no connection. If there is no program "hsgate", the script defines a function
of that name, which runs this installation by its path. Each completion starts a process that
may read only the current folder. The process reads the file names of recipes, but not their
content. Add the line of the example to the startup file of your shell.`,
  flags: {},
  without: offline,
  exits: [],
  examples: [
    "completion bash > ~/.hsgate.bash   # ~/.bashrc: source ~/.hsgate.bash",
    "completion zsh > ~/.hsgate.zsh   # ~/.zshrc, after compinit: source ~/.hsgate.zsh",
    "completion fish > ~/.config/fish/conf.d/hsgate.fish",
  ],
});
