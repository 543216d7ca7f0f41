import { assert, assertEquals } from "@std/assert";
import { openPostgres } from "../../lib/store/postgres.ts";
import { insertRun } from "../../lib/runner/queries/runs.ts";
import { temporarySchema } from "../support/postgres.ts";
import { postgres } from "../support/stores.ts";
import { cli, folder } from "./runner_support.ts";
import { ManualClock } from "../../lib/time.ts";
import { ORDER } from "../conformance/simulated_account.ts";
import { connect } from "../../lib/client/connect.ts";
import { envOf, KEY, MORNING, PASSWORD, simulate } from "./support.ts";

const HOUR = 3_600_000;
const beat = `name: beat
schedule: { every: 1h }
steps:
  - { id: orders, uses: orders.today, with: { market: hk } }
`;

Deno.test({
  name: "commands on a machine whose clock is an hour ahead write the database's time (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using schema = temporarySchema(postgres!); // without PostgreSQL, the test is skipped
    await using dir = await folder({ "beat.yaml": beat });
    const file = `${dir.path}/beat.yaml`;
    await using store = await openPostgres(schema.url);
    const now = store.now()!; // a database has a clock
    const add = async (key: string, set: string, ...values: (string | number)[]) => {
      const run = {
        recipe: "beat",
        scheduleId: "s1",
        kind: "live",
        class: "write",
        recipeSha: "",
        traceId: "t",
      } as const;
      await insertRun(store, { ...run, runKey: key, slotAt: now, dueAt: now, state: "due" }, now);
      await store.run(`update run set ${set} where run_key = ?`, ...values, key);
    };
    await add("beat/1", "state = 'running', holder = 'other', lease_until = ?", now + 60_000);
    await add("beat/2", "state = 'unknown', finished_at = ?", now);
    await add("beat/3", "state = 'waiting_approval'");
    await store.run("insert into schedule values ('beat', 's1', '{}', ?, null, ?, null)", now, now);
    const command = async (...words: string[]) => {
      const world = { now: () => Date.now() + HOUR, files: { [file]: beat } };
      const { code, err } = await cli([...words, "--store", schema.url], world);
      assertEquals(code, 0, err);
    };
    await command("resolve", "beat/2", "failed", "--because", "a test");
    await command("refuse", "beat/3", "--because", "a test");
    await command("pause", "beat", "--recipes", dir.path);
    await command("resume", "beat", "--recipes", dir.path);
    // The lease of the other process has not expired, so its run did not change.
    const other = await store.get("select state, holder from run where run_key = 'beat/1'");
    assertEquals(other, { state: "running", holder: "other" });
    const latest = await store.all<{ what: string; at: number | null }>(
      `select 'event ' || kind as what, at from event union all select 'watermark', watermark from schedule
        union all select 'end of ' || run_key, finished_at from run where finished_at is not null`,
    );
    assert(latest.length >= 7, JSON.stringify(latest));
    // The times differ by far less than an hour, even on a slow machine.
    const wrong = latest.filter(({ at }) => at === null || Math.abs(at - now) > HOUR / 2);
    assertEquals(wrong, []);
  },
});

Deno.test({
  name: "buy, amend, cancel and cancel-all refuse to write while this machine's clock is wrong (PostgreSQL)",
  ignore: postgres === undefined,
  async fn() {
    await using schema = temporarySchema(postgres!); // without PostgreSQL, the test is skipped
    await using gateway = await simulate({ clock: new ManualClock(MORNING) });
    await using client = await connect({
      gateway: { url: gateway.info.gatewayUrl, tradePasswordKey: KEY },
      tradePassword: PASSWORD,
    });
    const { orderId = "" } = await client.orders.place(ORDER);
    const realNow = Date.now;
    Date.now = () => realNow() + HOUR;
    try {
      for (
        const words of [
          ["buy", "100", "00700.HK", "--limit", "550", "--yes"],
          ["amend", orderId, "--limit", "540", "--yes"],
          ["cancel", orderId, "--yes"],
          ["cancel-all", "--market", "hk", "--yes-all"],
          ["call", "orders.cancelAll", '{"market":"hk"}', "--yes"],
        ]
      ) {
        const { code, err } = await cli(words, {
          env: { ...envOf(gateway), HSGATE_STORE: schema.url, HSGATE_LIVE_TRADING: "allow" },
        });
        assertEquals(code, 1, err);
        assert(/Cannot send orders\S*: this machine's clock is 3600\.\d s ahead of/.test(err), err);
        assert(err.includes("nothing was sent"), err);
      }
    } finally {
      Date.now = realNow;
    }
    const orders = await client.orders.today({ market: "hk" }).toArray();
    assertEquals(orders.map(({ orderId, price, canCancel }) => [orderId, Number(price), canCancel]), [
      [orderId, 550, true],
    ]);
  },
});
