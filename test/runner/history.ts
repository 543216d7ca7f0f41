/**
 * Fills a store with the runs of a long time: a real scheduler makes one run, and the others are its copies, each a
 * period later. Weeks of runs take seconds.
 *
 * @module
 */
import type { Store } from "../../lib/store/store.ts";
import { SqliteStore } from "../../lib/store/sqlite.ts";
import { asAdmin } from "../support/postgres.ts";
import { bench, every, recipe, step } from "./support.ts";

/** Columns with instants. */
const instants = [
  "slot_at",
  "due_at",
  "deadline_at",
  "started_at",
  "finished_at",
  "at",
  "created_at",
  "next_try",
  "sent_at",
];

/** A history that grows. */
export class History {
  readonly #store: Store;
  readonly #everyMs: number;
  readonly #first: { key: string; slotAt: number };
  /** Columns of each table. */
  readonly #columns: ReadonlyMap<string, readonly string[]>;
  /** Number of runs so far. */
  count = 1;

  private constructor(
    store: Store,
    { everyMs, first, columns }: {
      everyMs: number;
      first: { key: string; slotAt: number };
      columns: ReadonlyMap<string, readonly string[]>;
    },
  ) {
    this.#store = store;
    this.#everyMs = everyMs;
    this.#first = first;
    this.#columns = columns;
  }

  /** Lets a scheduler make the first run: two steps with outputs, and three lines of log. */
  static async begin(store: Store, everyMs: number): Promise<History> {
    const often = recipe({
      name: "often",
      schedules: [every(everyMs)],
      steps: [
        step({
          id: "funds",
          run({ log }) {
            log("info", "read the funds of the account");
            return Promise.resolve({
              currency: "HKD",
              cash: "120000.00",
              total: "1843022.75",
              markets: ["hk", "us"],
            });
          },
        }),
        step({
          id: "check",
          run({ log }) {
            for (const text of ["cash is above 100000.00", "nothing to do"]) log("info", text);
            return Promise.resolve({ ok: true, cash: "120000.00", least: "100000.00" });
          },
        }),
      ],
    });
    const b = await bench({ start: "2015-12-22T00:00:00Z", recipes: [often], store });
    await b.scheduler.start();
    await b.machine.pass(everyMs);
    await b.scheduler.stop();
    const [first] = await store.all<{ run_key: string; slot_at: number }>("select run_key, slot_at from run");
    const columns = new Map<string, string[]>();
    for (const table of ["run", "step_run", "event", "log"]) {
      const row = await store.get<Record<string, unknown>>(
        `select * from ${table} where run_key = ?`,
        first!.run_key,
      );
      columns.set(table, Object.keys(row!).filter((name) => name !== "seq"));
    }
    return new History(store, { everyMs, first: { key: first!.run_key, slotAt: first!.slot_at }, columns });
  }

  /** The slot of the newest run, epoch milliseconds. */
  get now(): number {
    return this.#first.slotAt + (this.count - 1) * this.#everyMs;
  }

  /**
   * Adds the next runs, in one transaction. Every tenth run gets a notice. The newest run must still be in the store,
   * because the next runs are copies of it.
   */
  async add(runs: number): Promise<void> {
    const numbers = `with recursive numbers (n) as (select ${this.count} union all select n + 1 from numbers
      where n < ${this.count + runs - 1})`;
    // This key is as long as a real one.
    const key = `'often/s1/2015-12-22T' || (10000000 + n) || 'Z'`;
    const newest = this.count - 1;
    await this.#store.transaction(async () => {
      for (const [table, columns] of this.#columns) {
        const values = columns.map((name) =>
          name === "run_key"
            ? key
            : instants.includes(name)
            ? `${name} + (n - ${newest}) * ${this.#everyMs}`
            : name
        );
        await this.#store.run(
          `${numbers} insert into ${table} (${columns.join(", ")}) select ${
            values.join(", ")
          } from numbers, ${table}
            where run_key = ? order by n`,
          newest === 0 ? this.#first.key : `often/s1/2015-12-22T${10_000_000 + newest}Z`,
        );
      }
      await this.#store.run(
        `${numbers} insert into outbox (dedupe_key, channel, body, tries, next_try, sent_at, run_key, created_at)
          select ${key} || '/0/1/ok/0/0', 'mail', '{"recipe":"often"}', 1, ${this.#first.slotAt}, ${this.#first.slotAt}, ${key},
            ${this.#first.slotAt} from numbers where n % 10 = 0`,
      );
    });
    this.count += runs;
  }
}

/** Returns the bytes that a store uses, including the free space in its files. */
export async function sizeOfStore(store: Store): Promise<number> {
  if (store instanceof SqliteStore) {
    const pages = await store.get<{ page_count: number }>("pragma page_count");
    const bytes = await store.get<{ page_size: number }>("pragma page_size");
    return pages!.page_count * bytes!.page_size;
  }
  const size = await store.get<{ bytes: number }>(
    `select sum(pg_total_relation_size(oid)) as bytes from pg_class where relkind = 'r'
      and relnamespace = (select oid from pg_namespace where nspname = current_schema())`,
  );
  return size!.bytes;
}

/** Makes the space of removed rows free, as PostgreSQL does by itself within minutes. */
export async function vacuum(store: Store, url: string): Promise<void> {
  const { schema } = (await store.get<{ schema: string }>("select current_schema() as schema"))!;
  const tables = ["run", "step_run", "event", "log", "outbox"].map((table) => `${schema}.${table}`);
  await asAdmin(url, `vacuum ${tables.join(", ")}`);
}
