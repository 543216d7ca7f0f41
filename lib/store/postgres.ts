/**
 * A store in a PostgreSQL database, which several machines may share.
 *
 * Every transaction and every writing statement first gets the lock of the schema. So the transactions of all machines
 * run one after the other, like in SQLite. Leases use the database's clock.
 *
 * @module
 */
import pg from "pg";
import { readRegularTextSync } from "../regular_files.ts";
import { type Machine, systemMachine } from "../time.ts";
import { migrate } from "./migrations.ts";
import { type PostgresTarget, readPostgresUrl } from "./postgres_url.ts";
import { checkMessages, isBuiltIn, type MessageSource } from "./server_messages.ts";
import { isRead, type SqlValue, type StatementResult, Store } from "./store.ts";
import { isTemporary, StoreError } from "./store_error.ts";

/** Options of a database store. */
export interface PostgresOptions {
  /** How long to wait for another transaction that has the lock. @default 5 s */
  waitMs?: number;
  /** How long one statement may take before the connection counts as lost. @default 15 s */
  answerMs?: number;
  /** How long a connection attempt may take. @default 5 s */
  connectMs?: number;
  /**
   * If the connection is lost during a commit: how long to ask the database whether it has committed the transaction.
   * By default this is long enough for the database to end an idle transaction, and for most servers to restart.
   *
   * @default 20 s
   */
  askMs?: number;
  /** The clocks of this machine. @default the real ones */
  machine?: Pick<Machine, "now" | "monotonic">;
  /** Password, if the URL has none. @default as in libpq: `PGPASSWORD` or a password file */
  password?: string;
  /** Returns an id for a new store. @default a random UUID */
  drawId?(): string;
}

/** The oldest version of PostgreSQL that is supported. */
const LEAST_VERSION = 150_000;
/** The database ends a transaction that is idle for this long, so that other machines can continue. */
const SILENT_MS = 5_000;
/** First half of the lock number. The second half is a hash of the schema's name. */
const LOCK = 0x68736774;
/**
 * Largest accepted difference between this machine's clock and the database's. With a wrong clock, a write could go out
 * at the wrong time of the trading day.
 */
const MOST_SKEW_MS = 5_000;
/** How long an estimate of the database's clock is used. */
const ESTIMATE_MS = 60_000;
/** Wait before the server is asked again whether it committed a transaction. */
const ASK_AGAIN_MS = 500;

/** The part of a `pg` client that is used here; the package has no types. */
interface Client {
  connect(): Promise<void>;
  query(query: string | { name?: string; text: string; values: unknown[] }): Promise<Answer | Answer[]>;
  end(): Promise<void>;
  on(event: "error" | "end", listener: (error?: Error) => void): void;
  connection: Connection;
}

/** The part of a connection of the `pg` package that is used here. Its events have the names of the messages. */
interface Connection extends MessageSource {
  stream: { destroy(): void };
  on(event: string, listener: MessageListener): void;
  listeners(event: string): MessageListener[];
  removeAllListeners(event: string): void;
}

type MessageListener = (message: { data?: unknown }) => void;

interface Answer {
  rows: Record<string, unknown>[];
  rowCount: number | null;
}

/** Opens the database of a URL. Creates missing tables, and updates the tables of an older version. */
export async function openPostgres(url: string, options: PostgresOptions = {}): Promise<PostgresStore> {
  const store = new PostgresStore(readPostgresUrl(url), options);
  try {
    await store.prepare(options.drawId ?? (() => crypto.randomUUID()));
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

/** A connected store; reconnects after a lost connection. */
export class PostgresStore extends Store {
  readonly name: string;
  readonly #target: PostgresTarget;
  readonly #waitMs: number;
  readonly #answerMs: number;
  readonly #connectMs: number;
  readonly #askMs: number;
  readonly #machine: Pick<Machine, "now" | "monotonic">;
  #risk: string | undefined;
  #client: Client | undefined;
  /** The PostgreSQL text of each statement, and its name on the server. */
  readonly #statements = new Map<string, { name: string; text: string }>();
  /** Id of this process's store object in the table `commit_token`. */
  readonly #process = crypto.randomUUID();
  /** Number of the last transaction that wrote something; `undefined` until the tables exist. */
  #token: number | undefined;
  /** Whether the current transaction has written something. */
  #hasWritten = false;
  /**
   * Measured differences between the database's clock and the monotonic clock. The true difference is at least as large
   * as each of them.
   */
  #ahead: { byMs: number; seenAt: number }[] = [];

  constructor(
    target: PostgresTarget,
    {
      waitMs = 5_000,
      answerMs = 15_000,
      connectMs = 5_000,
      askMs = 20_000,
      machine = systemMachine,
      password,
    }: PostgresOptions,
  ) {
    super();
    this.#target = password === undefined ? target : { ...target, password: target.password ?? password };
    this.name = target.name;
    this.#waitMs = waitMs;
    this.#answerMs = answerMs;
    this.#connectMs = connectMs;
    this.#askMs = askMs;
    this.#machine = machine;
  }

  get risk(): string | undefined {
    return this.#risk;
  }

  get clockFault(): string | undefined {
    const aheadMs = this.#machine.now() - this.#sharedTime();
    if (Math.abs(aheadMs) <= MOST_SKEW_MS) return undefined;
    return `this machine's clock is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${
      aheadMs > 0 ? "ahead of" : "behind"
    } the database's; at most ${MOST_SKEW_MS / 1000} s is allowed: correct the wrong clock`;
  }

  override async continueNumbering(): Promise<void> {
    for (const table of ["event", "log"]) {
      // This is a select, but it changes the sequence, so it runs as a transaction.
      await this.transaction(() =>
        this.get(`select setval(pg_get_serial_sequence('${table}', 'seq'), max(seq)) as seq from ${table}`)
      );
    }
  }

  /** Creates the schema and its tables if they do not exist. */
  async prepare(drawId: () => string): Promise<void> {
    const { schema } = this.#target;
    const schemas = await this.all("select 1 as there from pg_namespace where nspname = ?", schema);
    if (schemas.length === 0) await this.run(`create schema if not exists ${schema}`);
    const tables = await this.all<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = ?",
      schema,
    );
    if (tables.length > 0 && !tables.some(({ name }) => name === "migration")) {
      throw new StoreError(
        `Cannot use the store "${this.name}": its schema "${schema}" belongs to another program; name another schema ` +
          "with ?schema=",
        { code: "not-a-store" },
      );
    }
    await migrate(this, {
      has: async (table) =>
        await this.get(
          "select 1 as there from pg_tables where schemaname = ? and tablename = ?",
          schema,
          table,
        ) !== undefined,
      translate: inPostgres,
      drawId,
    });
    // Each process records its last commit in this table. After a connection is lost during a commit, the process looks
    // here for the result.
    if (!tables.some(({ name }) => name === "commit_token")) {
      await this.run(
        `create table if not exists commit_token (process text primary key, token bigint not null,
          at timestamptz not null)`,
      );
    }
    this.#token = 0;
  }

  /**
   * Returns the database's time. Every transaction reads this time, and the process adds the time that its monotonic
   * clock has measured since. Each answer is late by its travel time, so the largest estimate is the most exact.
   */
  now(): number | undefined {
    return this.#sharedTime();
  }

  #sharedTime(): number {
    const best = Math.max(...this.#ahead.map(({ byMs }) => byMs));
    if (best === -Infinity) {
      throw new TypeError("Cannot return the database's time: no query has read it yet");
    }
    return Math.floor(best + this.#machine.monotonic());
  }

  /** Does nothing: the database itself keeps the last writes. */
  async mark(): Promise<void> {}

  protected async execute(
    sql: string,
    values: readonly SqlValue[],
    wanted: StatementResult,
  ): Promise<unknown> {
    // If there is no client, the connection was lost, and the transaction with it.
    if (this.#client === undefined) {
      throw this.#lost("the connection was lost in the middle of a transaction");
    }
    this.#hasWritten ||= !isRead(sql);
    return pick(await this.#send(this.#client, this.#statement(sql, values)), wanted);
  }

  protected async executeAlone(
    sql: string,
    values: readonly SqlValue[],
    wanted: StatementResult,
  ): Promise<unknown> {
    if (isRead(sql)) {
      return await this.#again(async (client) =>
        pick(await this.#send(client, this.#statement(sql, values)), wanted)
      );
    }
    await this.begin();
    let result;
    try {
      result = await this.execute(sql, values, wanted);
    } catch (error) {
      await this.rollback();
      throw error;
    }
    await this.commit();
    return result;
  }

  protected async begin(): Promise<void> {
    const { schema } = this.#target;
    this.#hasWritten = false;
    // The lock is taken in a separate statement, so that later statements see everything that was committed before.
    const answers = await this.#again((client) =>
      this.#send(
        client,
        `begin; select pg_advisory_xact_lock(${LOCK}, hashtext('${schema}')); ${CLOCK}`,
        this.#waitMs + this.#answerMs,
      )
    ).catch(async (error) => {
      await this.rollback();
      throw error;
    });
    this.#noteClock(answers);
  }

  protected async commit(): Promise<void> {
    if (this.#client === undefined) {
      throw this.#lost("the connection was lost in the middle of a transaction");
    }
    const hasWritten = this.#hasWritten;
    const note = hasWritten && this.#token !== undefined ? this.#noteToken(++this.#token) : "";
    try {
      await this.#send(this.#client, `${note}commit`);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "lost-connection") throw error;
      if (!hasWritten) return;
      const wasCommitted = this.#token === undefined ? undefined : await this.#wasCommitted(this.#token);
      if (wasCommitted === true) return;
      if (wasCommitted === false) {
        throw this.#lost("the connection was lost before a transaction was committed", error);
      }
      throw new StoreError(
        `Cannot tell whether the store "${this.name}" saved a transaction: the connection was lost during the commit, ` +
          "and the server could not be asked again in time",
        { code: "unknown-commit", cause: error },
      );
    }
  }

  /** Returns the statements that record the number of a transaction. They are sent together with its commit. */
  #noteToken(token: number): string {
    // The rows of ended processes are no longer needed.
    const prune = token === 1 ? "delete from commit_token where at < now() - interval '1 day'; " : "";
    return `${prune}insert into commit_token (process, token, at) values ('${this.#process}', ${token}, now())
      on conflict (process) do update set token = excluded.token, at = excluded.at; `;
  }

  /**
   * Returns whether the server committed a transaction of this process; `undefined` if the server does not answer in
   * time, or answers with a lasting error.
   */
  async #wasCommitted(token: number): Promise<boolean | undefined> {
    for (const until = this.#machine.monotonic() + this.#askMs; this.#machine.monotonic() < until;) {
      try {
        // Once this process has the lock, the earlier transaction is committed or rolled back.
        await this.begin();
        const row = await this.execute(
          "select token from commit_token where process = ?",
          [this.#process],
          "row",
        );
        await this.rollback();
        return (row as { token: number } | undefined)?.token === token; // the query selects this column
      } catch (error) {
        await this.rollback();
        if (!isTemporary(error)) return undefined;
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
    }
    return undefined;
  }

  protected async rollback(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return; // the database ends the transaction of a lost connection
    try {
      await this.#send(client, "rollback");
    } catch {
      this.#drop(client);
    }
  }

  protected async close(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    this.#client = undefined;
    // If the server does not answer in time, close the connection by force.
    const timer = setTimeout(() => client.connection.stream.destroy(), this.#connectMs);
    try {
      await client.end();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Runs a read or a `begin`. Repeats it once on a new connection if the old connection turns out to be lost. */
  async #again<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const isOld = this.#client !== undefined;
    try {
      return await work(await this.#connected());
    } catch (error) {
      const isLost = error instanceof StoreError && error.code === "lost-connection";
      if (!isLost || !isOld) throw error;
      return await work(await this.#connected());
    }
  }

  async #connected(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const { host, port, database, user, password, tls, schema } = this.#target;
    let ssl: unknown = false;
    if (tls !== undefined) {
      const ca = tls.rootFile === undefined ? undefined : readRegularTextSync(tls.rootFile);
      // The package verifies that the certificate belongs to the host. It sends the host's name to the server, but
      // never an IP address.
      ssl = { rejectUnauthorized: true, ...ca !== undefined && { ca } };
    }
    // The package has no types.
    const client = new pg.Client({
      host,
      port,
      database,
      user,
      password,
      ssl,
      application_name: "hsgate",
      connectionTimeoutMillis: this.#connectMs,
      keepAlive: true,
      types: { getTypeParser: (oid: number) => readers[oid] ?? String },
    }) as Client;
    checkMessages(client.connection);
    client.on("error", () => this.#drop(client));
    client.on("end", () => this.#drop(client));
    const refuse = (why: string, cause?: unknown) => {
      this.#drop(client);
      return new StoreError(`Cannot use the store "${this.name}": ${why}`, { code: "no-access", cause });
    };
    // These queries only set up the connection and are correct, so each error comes from the server.
    const explain = (thrown: unknown) => {
      this.#drop(client);
      const error = this.#error(thrown);
      return error instanceof StoreError || !(error instanceof Error)
        ? error
        : refuse(shortened(error), error);
    };
    try {
      const connected = client.connect();
      // The package has now added its listeners, which answer each request for the password.
      const login = tls === undefined ? onlyScram(client.connection, refuse) : undefined;
      await connected;
      if (login !== undefined && !login.isProven && (login.isAsked || password !== undefined)) {
        throw refuse(
          "the server has not proven that it knows the password; require scram-sha-256 in its pg_hba.conf, or remove " +
            "the password from the settings",
        );
      }
    } catch (error) {
      throw explain(error);
    }
    this.#client = client;
    this.#statements.clear();
    const settings = {
      search_path: schema,
      synchronous_commit: "on",
      default_transaction_isolation: "'read committed'",
      lock_timeout: this.#waitMs,
      statement_timeout: this.#waitMs + this.#answerMs,
      idle_in_transaction_session_timeout: SILENT_MS,
      timezone: "'UTC'",
      client_min_messages: "error",
    };
    const answers = await this.#send(
      client,
      Object.entries(settings).map(([name, value]) => `set ${name} = ${value}; `).join("") +
        `select current_setting('server_version_num')::int as version, current_setting('fsync') as fsync,
          pg_is_in_recovery() as standby; ${CLOCK}`,
    ).catch((error) => {
      throw explain(error);
    });
    this.#noteClock(answers);
    const found = answers.at(-2)?.rows[0];
    if (!(Number(found?.version) >= LEAST_VERSION)) throw refuse("PostgreSQL 15 or later is needed");
    if (found?.standby === 1) throw refuse("the server is a standby, which accepts no writes");
    this.#risk = found?.fsync === "on" ? undefined : "the server runs with fsync = off";
    return client;
  }

  #statement(sql: string, values: readonly SqlValue[]): { name: string; text: string; values: unknown[] } {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      let count = 0;
      const text = sql
        .replaceAll(
          "json_each(?) as given",
          "jsonb_array_elements(?::jsonb) with ordinality as given(value, key)",
        )
        .replace(/'[^']*'|\?/g, (found) => found === "?" ? `$${++count}` : found);
      statement = { name: `s${this.#statements.size}`, text };
      this.#statements.set(sql, statement);
    }
    return { ...statement, values: values.map((value) => value ?? null) };
  }

  /** Sends one query. Closes the connection if no answer comes in time. */
  async #send(
    client: Client,
    query: Parameters<Client["query"]>[0],
    mostMs = this.#answerMs,
  ): Promise<Answer[]> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      this.#drop(client);
    }, mostMs);
    try {
      return [await client.query(query)].flat();
    } catch (error) {
      const failure = isLate
        ? this.#lost(`the server has not answered for ${mostMs / 1000} s`)
        : this.#error(error);
      // The state of this connection is unknown, so it is not used again.
      if (failure instanceof StoreError && failure.code === "lost-connection") this.#drop(client);
      throw failure;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes a connection without waiting; its pending queries fail. */
  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined;
    client.connection.stream.destroy();
  }

  #noteClock(answers: readonly Answer[]): void {
    const seenAt = this.#machine.monotonic();
    const at = answers.at(-1)?.rows[0]?.at;
    // The last statement of each of these queries selects the time.
    if (typeof at !== "number" || Number.isNaN(at)) {
      throw this.#lost("the server has answered without the rows that were asked for");
    }
    this.#ahead = [
      ...this.#ahead.filter((each) => seenAt - each.seenAt < ESTIMATE_MS).slice(-8),
      { byMs: at - seenAt, seenAt },
    ];
  }

  #lost(why: string, cause?: unknown): StoreError {
    return new StoreError(`Cannot reach the store "${this.name}": ${why}`, {
      code: "lost-connection",
      cause,
    });
  }

  /** Converts errors of the driver and the server into {@linkcode StoreError}; returns other errors unchanged. */
  #error(error: unknown): unknown {
    if (error instanceof StoreError || !(error instanceof Error)) return error;
    if (isBuiltIn(error)) return this.#lost("the server sent a row that hsgate cannot read", error);
    const code = "code" in error && typeof error.code === "string" ? error.code : "";
    const said = shortened(error);
    const failure = (why: string, kind: StoreError["code"] & string) =>
      new StoreError(`Cannot use the store "${this.name}": ${why}`, { code: kind as never, cause: error });
    if (code === "55P03") {
      return failure(
        `another process has kept it locked for ${
          this.#waitMs / 1000
        } s; end that process, or try again later`,
        "busy",
      );
    }
    if (code === "57014") return failure("a statement took too long", "busy");
    if (code === "53300") {
      return failure(
        `the server has no connection left (${said}); end other programs that are connected, or raise ` +
          "max_connections or the role's connection limit",
        "full",
      );
    }
    if (code.startsWith("53")) {
      return failure(`the server has no room left (${said}); free space on the server`, "full");
    }
    if (/^(28|3D|42501|25006)/.test(code)) return failure(said, "no-access");
    // Errors of the package itself during a SCRAM login.
    if (said.startsWith("SASL: ")) {
      const isMissing = said.includes("client password must be");
      return failure(
        isMissing ? "the server asks for a password; set HSGATE_STORE_PASSWORD" : said,
        "no-access",
      );
    }
    // Errors of the server itself, not of a statement.
    if (/^(58|F0|XX)/.test(code)) return failure(`the server failed (${said}); see its log`, "failed");
    // 08: connection; 57P: the server is shutting down; 25P03: the server ended an idle transaction. An error without a
    // code of five characters does not come from the server.
    if (/^(08|57P|25P03)/.test(code) || !/^[0-9A-Z]{5}$/.test(code)) return this.#lost(said, error);
    return error;
  }
}

/** Maximum number of characters of a server's error that our error contains. */
const MOST_SAID = 2_000;

/** Returns the text of an error, cut if it is long. */
function shortened({ message }: Error): string {
  return message.length > MOST_SAID ? `${message.slice(0, MOST_SAID)}…` : message;
}

/** Minimum number of iterations of a SCRAM login: PostgreSQL's default, and the minimum of RFC 7677. */
const LEAST_ITERATIONS = 4096;

/**
 * Allows only SCRAM logins on a connection without TLS. Another program of this machine, or of another machine on the
 * network, could answer in the server's place. That program would see a password that is sent without encryption. From
 * an MD5 hash, or from SCRAM with few iterations, it could find the password by trying many passwords.
 *
 * @param refuse Ends the connection, and returns the error to throw.
 * @returns What the server has requested and proven so far.
 */
function onlyScram(
  connection: Connection,
  refuse: (why: string) => StoreError,
): { isAsked: boolean; isProven: boolean } {
  const login = { isAsked: false, isProven: false };
  const end = (why: string) => connection.emit("error", refuse(why));
  for (
    const [event, how] of [
      ["authenticationCleartextPassword", "without encryption"],
      ["authenticationMD5Password", "as an MD5 hash"],
    ] as const
  ) {
    connection.removeAllListeners(event);
    connection.on(
      event,
      () =>
        end(
          `the server asks for the password ${how}; let it use scram-sha-256, or use TLS with sslmode=verify-full`,
        ),
    );
  }
  const event = "authenticationSASLContinue";
  const answers = connection.listeners(event);
  connection.removeAllListeners(event);
  connection.on(event, (message) => {
    // The message must have exactly the three members that PostgreSQL sends. If a message had two counts, the package
    // would use the second.
    const [, count] = /^r=[^,]+,s=[^,]+,i=(\d+)$/.exec(String(message.data)) ?? [];
    if (Number(count ?? 0) >= LEAST_ITERATIONS) return answers.forEach((answer) => answer(message));
    end(
      `the server's SCRAM message is not valid, or has fewer than ${LEAST_ITERATIONS} iterations; set the role's password again`,
    );
  });
  connection.on("authenticationSASL", () => login.isAsked = true);
  // The package has already checked the server's proof. A wrong proof makes the connection fail before this event.
  connection.on("authenticationSASLFinal", () => login.isProven = true);
  return login;
}

/** Selects the database's time. Sent with each `begin` and with the setup of a connection. */
const CLOCK = "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as at";

function pick(answers: readonly Answer[], wanted: StatementResult): unknown {
  const answer = answers.at(-1);
  if (wanted === "changes") return answer?.rowCount ?? 0;
  return wanted === "row" ? answer?.rows[0] : answer?.rows ?? [];
}

/**
 * Parses a whole number; returns `NaN` if JavaScript cannot represent the number exactly. {@linkcode Store.all} rejects
 * `NaN`, and then the error names the row.
 */
function wholeNumber(text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : NaN;
}

/** Converters by type number of PostgreSQL; all other values are strings. */
const readers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t" ? 1 : 0, // boolean; SQLite returns a number
  20: wholeNumber, // bigint
  21: Number, // smallint
  23: Number, // integer
  701: Number, // double precision
  1700: wholeNumber, // numeric, the type of a sum of bigint
};

/** Adapts a `create table` or `create index` statement to PostgreSQL. */
function inPostgres(sql: string): string {
  return sql
    .replace(/\bseq integer primary key\b/, "seq bigint generated by default as identity primary key")
    .replace(/\binteger\b/g, "bigint")
    // Collation "C" makes PostgreSQL compare keys byte by byte in a database with any collation.
    .replace(/\btext\b(?=,|\)| not null| primary key|$)/g, 'text collate "C"');
}
