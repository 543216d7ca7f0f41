/** Environments of new users: an empty home, and only the programs that a test allows. */

/** Programs that every machine has. */
const USUAL = [
  "sh",
  "env",
  "cat",
  "chmod",
  "cut",
  "grep",
  "gzip",
  "ls",
  "mkdir",
  "rm",
  "sed",
  "tar",
  "uname",
];

/**
 * Returns the environment of a new user. It keeps the search path, and the settings of the network and of npm, because
 * tests download packages.
 */
export function environment(home: string): Record<string, string> {
  const kept = /^(PATH|LANG|TMPDIR|DENO_TLS_CA_STORE|SSL_CERT_\w+|NODE_EXTRA_CA_CERTS|(https?|no)_proxy)$/i;
  const own = Object.entries(Deno.env.toObject());
  const cache = Deno.env.get("npm_config_cache") ?? `${Deno.env.get("HOME")}/.npm`;
  return {
    ...Object.fromEntries(own.filter(([name]) => kept.test(name))),
    HOME: home,
    NO_COLOR: "1",
    npm_config_cache: cache,
    npm_config_userconfig: Deno.env.get("npm_config_userconfig") ?? `${Deno.env.get("HOME")}/.npmrc`,
    npm_config_update_notifier: "false",
    npm_config_loglevel: "error",
  };
}

/** Writes a folder with links to the programs of a machine, and returns it. */
async function programs(folder: string, names: readonly string[]): Promise<string> {
  await Deno.mkdir(folder);
  for (const name of [...USUAL, ...names]) {
    const path = name === "deno" ? Deno.execPath() : pathOf(name);
    await Deno.symlink(path, `${folder}/${name}`);
  }
  return folder;
}

function pathOf(name: string): string {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      if (Deno.statSync(`${folder}/${name}`).isFile) return `${folder}/${name}`;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory)) throw error;
    }
  }
  throw new Error(`Cannot make a machine with "${name}": the search path does not have it`);
}

/**
 * A machine with an empty home. Each command runs in its own shell, with the exports and in the folder of the commands
 * before it.
 */
export class Machine implements AsyncDisposable {
  readonly #place: string;
  readonly #env: Record<string, string>;
  readonly #open: Deno.ChildProcess[] = [];

  private constructor(place: string, env: Record<string, string>) {
    this.#place = place;
    this.#env = env;
  }

  /** @param names What the machine has besides the usual programs, such as `node`. */
  static async with(names: readonly string[]): Promise<Machine> {
    const place = await Deno.realPath(await Deno.makeTempDir({ prefix: "hsgate-machine-" }));
    await Deno.mkdir(`${place}/home`, { mode: 0o700 });
    const env = {
      ...environment(`${place}/home`),
      PATH: await programs(`${place}/bin`, names),
      // The test must not use packages that the real machine has installed globally, such as Deno.
      npm_config_prefix: `${place}/npm`,
    };
    const machine = new Machine(place, env);
    await Deno.writeTextFile(machine.#state("env"), "");
    return machine;
  }

  get home(): string {
    return `${this.#place}/home`;
  }

  /** Moves to a folder. */
  async goTo(folder: string): Promise<void> {
    await Deno.writeTextFile(this.#state("folder"), folder);
  }

  /** Returns the folder in which the next commands run. */
  async folder(): Promise<string> {
    return (await Deno.readTextFile(this.#state("folder"))).trimEnd();
  }

  /** Runs commands, and keeps their exports and their folder for the next ones. */
  async run(commands: string): Promise<{ code: number; out: string; err: string }> {
    const after = `export -p > "$STATE.env"\npwd > "$STATE.folder"\n`;
    const { code, stdout, stderr } = await this.#shell(`${commands}\n${after}`).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, out: text(stdout), err: text(stderr) };
  }

  /** Starts a command that runs until it is stopped. */
  start(command: string): Deno.ChildProcess {
    const child = this.#shell(`exec ${command}`).spawn();
    this.#open.push(child);
    return child;
  }

  #shell(commands: string): Deno.Command {
    const before = `set -e\n. "$STATE.env"\ncd "$(cat "$STATE.folder")"\n`;
    return new Deno.Command("/bin/sh", {
      args: ["-c", before + commands],
      clearEnv: true,
      env: { ...this.#env, STATE: this.#state("").slice(0, -1) },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
  }

  #state(name: string): string {
    return `${this.#place}/state.${name}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#open) {
      try {
        child.kill("SIGTERM");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // it has ended
      }
      await child.status;
    }
    await Deno.remove(this.#place, { recursive: true });
  }
}
