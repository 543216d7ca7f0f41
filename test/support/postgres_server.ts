/**
 * Starts a separate PostgreSQL server, for tests that stop the server, fill its disk or use up its connections.
 *
 * @module
 */

/** Returns the folder with the programs of a server, or `undefined` if there is none. */
function findPrograms(): string | undefined {
  const folders = ["/usr/local/bin", "/usr/bin", "/usr/local/pgsql/bin"];
  for (const parent of ["/usr/lib/postgresql", "/opt/homebrew/opt"]) {
    try {
      for (const { name } of Deno.readDirSync(parent)) folders.push(`${parent}/${name}/bin`);
    } catch {
      // there is no such folder
    }
  }
  return folders.find((folder) =>
    ["initdb", "pg_ctl", "postgres"].every((name) => isThere(`${folder}/${name}`))
  );
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

async function run(command: string, args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, { args, stdout: "null", stderr: "null", cwd: "/" })
      .output();
    return success;
  } catch {
    return false; // there is no such program
  }
}

const programs = findPrograms();

/** Whether this machine has the programs of a server. */
export const hasServer: boolean = programs !== undefined;

/** A running server with an administrator named `admin`, who needs no password. */
export interface PostgresServer extends AsyncDisposable {
  url: string;
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Fills the disk of the data; `undefined` if the process cannot mount a file system. */
  fill: (() => void) | undefined;
  /** Removes the file that filled the disk. */
  free(): void;
}

/**
 * Starts a server, on a disk of 128 MB if the process can mount one. Resolves to a text with the reason if this machine
 * cannot set up a server.
 *
 * @throws {Error} If the server does not start.
 */
export async function startServer(): Promise<PostgresServer | string> {
  const programs = findPrograms();
  if (programs === undefined) {
    return "not tried: no programs of a PostgreSQL server (initdb, pg_ctl, postgres)";
  }
  // PostgreSQL does not run as root.
  const isRoot = Deno.uid() === 0;
  const as = async (program: string, args: string[]) =>
    isRoot
      ? await run("runuser", ["-u", "nobody", "--", `${programs}/${program}`, ...args])
      : await run(`${programs}/${program}`, args);
  const folder = await Deno.makeTempDir({ prefix: "hsgate-server-" });
  const isMounted = isRoot && await run("mount", ["-t", "tmpfs", "-o", "size=128m", "tmpfs", folder]);
  const data = `${folder}/data`;
  const filler = `${folder}/filler`;
  if (isRoot) await run("chown", ["nobody", folder]);
  // The port is only a part of the name of a socket in the new folder, so it cannot collide with another server.
  const port = 5432;
  const start = async () => {
    const options = `-k ${folder} -p ${port} -c listen_addresses= -c max_connections=20`;
    if (!await as("pg_ctl", ["start", "-w", "-D", data, "-l", `${folder}/log`, "-o", options])) {
      throw new Error(`Cannot start a PostgreSQL server in ${folder}`);
    }
  };
  const stop = async () => void await as("pg_ctl", ["stop", "-m", "immediate", "-D", data]);
  const remove = async () => {
    await stop();
    // `-l`, because a process of the server may still be using the folder.
    if (isMounted) await run("umount", ["-l", folder]);
    await Deno.remove(folder, { recursive: true });
  };
  try {
    const made = await as("initdb", ["-D", data, "-U", "admin", "-A", "trust", "-N"]);
    if (!made) {
      await remove();
      return "not tried: initdb does not run here";
    }
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    url: `postgres://admin@localhost:${port}/postgres?host=${folder}`,
    start,
    stop,
    fill: isMounted
      ? () => {
        using file = Deno.openSync(filler, { create: true, write: true });
        for (let size = 1 << 20; size > 0;) {
          try {
            file.writeSync(new Uint8Array(size));
          } catch {
            size >>= 1;
          }
        }
      }
      : undefined,
    free: () => Deno.removeSync(filler),
    [Symbol.asyncDispose]: remove,
  };
}
