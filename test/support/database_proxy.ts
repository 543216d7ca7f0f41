/**
 * Provides a TCP proxy for a database. It can cut, stall or half-close a connection at a message of the client.
 *
 * @module
 */

import { openPostgres, type PostgresOptions, type PostgresStore } from "../../lib/store/postgres.ts";
import { readPostgresUrl } from "../../lib/store/postgres_url.ts";
import { temporarySchema } from "./postgres.ts";

/** The fault that the proxy injects into a connection at the chosen message. */
export type Harm =
  /** It drops the message and closes both sides. */
  | "cut"
  /** It delivers the message but not the answer, and closes both sides. */
  | "cut-answer"
  /** It forwards nothing more, and both sides stay open. */
  | "stall"
  /** It closes the database's side; the client's side stays open and silent. */
  | "half-close"
  /**
   * As "stall". When the client closes its side, the proxy leaves the database's side open, as when a network is
   * split.
   */
  | "partition";

/** A running proxy. */
export class DatabaseProxy implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #target: Deno.ConnectOptions | Deno.UnixConnectOptions;
  readonly #connections = new Set<Deno.Conn>();
  readonly #work = new Set<Promise<void>>();
  #isRefusing = false;
  #plan: { after: number; harm: Harm } | undefined;
  /** Number of client messages since the last `plan()` or `count()`. The message of the fault is included. */
  #seen = 0;

  constructor(target: Deno.ConnectOptions | Deno.UnixConnectOptions) {
    this.#target = target;
    this.#track(this.#accept());
  }

  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port; // it listens on TCP
  }

  /** Number of client messages since the last `plan()` or `count()`. The message of the fault is included. */
  get seen(): number {
    return this.#seen;
  }

  /**
   * Plans one fault at the client message with the number `after`. The next message has the number 0. Each flush of the
   * client is one message.
   */
  plan(after: number, harm: Harm): void {
    this.#seen = 0;
    this.#plan = { after, harm };
  }

  /** Counts messages from 0, without a fault. */
  count(): void {
    this.#seen = 0;
    this.#plan = undefined;
  }

  /** Closes every new connection at once, as if the database were gone. */
  refuse(): void {
    this.#isRefusing = true;
  }

  /** Closes all connections, and every new connection at once. */
  goDown(): void {
    this.refuse();
    for (const each of this.#connections) close(each);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const each of this.#connections) close(each);
    await Promise.all(this.#work);
  }

  #track(work: Promise<void>): void {
    const tracked: Promise<void> = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      if (this.#isRefusing) close(client);
      else this.#track(this.#serve(client));
    }
  }

  async #serve(client: Deno.Conn): Promise<void> {
    const server = "path" in this.#target
      ? await Deno.connect({ transport: "unix", path: this.#target.path })
      : await Deno.connect(this.#target);
    this.#connections.add(client).add(server);
    const state = { isSilent: false, dropsAnswer: false, isSplit: false };
    const both = () => {
      close(client);
      close(server);
    };
    await Promise.all([
      pump(client, async (bytes) => {
        if (state.isSilent) return;
        const harm = this.#next();
        if (harm === "cut") return both();
        if (harm === "stall" || harm === "partition") {
          state.isSilent = true;
          state.isSplit = harm === "partition";
          return;
        }
        if (harm === "half-close") {
          state.isSilent = true;
          return close(server);
        }
        state.dropsAnswer = harm === "cut-answer";
        await write(server, bytes);
      }).finally(() => state.isSplit ? close(client) : both()),
      pump(server, async (bytes) => {
        if (state.isSilent) return;
        if (state.dropsAnswer) return both();
        await write(client, bytes);
      }).finally(() => state.isSilent || close(client)),
    ]);
    both();
    this.#connections.delete(client);
    this.#connections.delete(server);
  }

  #next(): Harm | undefined {
    const index = this.#seen++;
    if (this.#plan?.after !== index) return undefined;
    const { harm } = this.#plan;
    this.#plan = undefined;
    return harm;
  }
}

/** Forwards data until either side is closed. */
async function pump(from: Deno.Conn, to: (bytes: Uint8Array) => Promise<void> | void): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (;;) {
    let count: number | null;
    try {
      count = await from.read(buffer);
    } catch {
      return; // closed by the test or by the other side
    }
    if (count === null) return;
    await to(buffer.slice(0, count));
  }
}

async function write(to: Deno.Conn, bytes: Uint8Array): Promise<void> {
  try {
    for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
  } catch {
    // This side is closed. The loop that reads from it will end.
  }
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed before.
  }
}

/** Returns a proxy in front of the database of a URL, and the URL that leads through it. */
export function proxyFor(url: string): { proxy: DatabaseProxy; url: string } {
  const { host, port } = readPostgresUrl(url);
  const proxy = new DatabaseProxy(
    host.startsWith("/") ? { transport: "unix", path: `${host}/.s.PGSQL.${port}` } : { hostname: host, port },
  );
  const through = new URL(url);
  through.searchParams.set("host", "127.0.0.1");
  through.searchParams.set("port", String(proxy.port));
  return { proxy, url: through.href };
}

/**
 * Creates a schema, and a proxy in front of its database. `direct` is a store that does not go through the proxy; the
 * stores that `open` returns do.
 */
export async function behindProxy(database: string, options: PostgresOptions = {}): Promise<
  & { proxy: DatabaseProxy; direct: PostgresStore; open(): Promise<PostgresStore> }
  & AsyncDisposable
> {
  const schema = temporarySchema(database);
  const { proxy, url } = proxyFor(schema.url);
  const direct = await openPostgres(schema.url);
  return {
    proxy,
    direct,
    open: () => openPostgres(url, options),
    async [Symbol.asyncDispose]() {
      await direct[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await schema[Symbol.asyncDispose]();
    },
  };
}
