/** Tests that rejected logins are distinguished, reported, blocked for every process, and retried automatically. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { account } from "../../lib/operations/account.ts";
import { pauseRecipe, resumeRecipe } from "../../lib/runner/claims/decisions.ts";
import { markPassword } from "../../lib/runner/claims/password_mark.ts";
import { runLatestSlot } from "../../lib/runner/run/script.ts";
import { why } from "../../lib/runner/explain/why.ts";
import type { StepContext } from "../../lib/recipes/compiled.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { farEnd, ok, refused } from "../support/far_end.ts";
import { testBoth } from "./both_stores.ts";
import { type Bench, bench, DAY, every, HOUR, inTestTime, MINUTE, recipe, runsOf, step } from "./support.ts";

const tradePasswordKey = "MDEyMzQ1Njc4OWFiY2RlZg==";

/** Starts a broker that rejects logins while `refusal` is set, and records whether the client is logged in. */
function broker() {
  const state: { refusal?: string; isIn: boolean } = { isIn: false };
  const end = farEnd(({ path }) => {
    if (path === "/trade/TradeLogin") {
      state.isIn = state.refusal === undefined;
      return state.refusal === undefined ? ok({ success: true }) : refused(state.refusal);
    }
    return state.isIn ? ok({ enableBalance: "5" }) : refused("1012 not logged in");
  });
  return {
    state,
    logins: () => end.arrived.filter(({ path }) => path === "/trade/TradeLogin").length,
    /** A client of one process. */
    connect: (monotonic: () => number) =>
      createClient(gateway({ url: end.url, tradePasswordKey }), {
        tradePassword: "secret",
        machine: { monotonic },
      }),
    [Symbol.asyncDispose]: () => end[Symbol.asyncDispose](),
  };
}

const askFunds = async ({ client }: Pick<StepContext, "client">) =>
  await (await client()).call(account.funds, { market: "hk" });

/** A recipe that queries the funds every ten minutes. */
const asking = (given: Parameters<typeof recipe>[0] = {}) =>
  recipe({
    name: "ask",
    needsAccount: true,
    schedules: [every(10 * MINUTE)],
    misfire: { graceMs: 10 * MINUTE, action: "skip", max: 1 },
    steps: [step({ run: askFunds })],
    ...given,
  });

const warningsOf = (b: Bench) => b.events.flatMap((event) => event.type === "warning" ? [event.message] : []);
const listing = (now: number) => ({ now, loadedAt: now, lookbackMs: 14 * DAY, drawTraceId: () => "1" });

/** Lets real sockets work while virtual minutes pass. */
async function pass(b: Bench, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    await b.machine.pass(MINUTE);
    for (let turn = 0; turn < 400 && b.scheduler.running.length > 0; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assertEquals(b.scheduler.running, []);
  }
}

testBoth(
  "a login rejected for now is reported and retried after growing waits, without a person",
  async () => {
    for (const text of ["system maintenance", "9999", "-1"]) {
      await using far = broker();
      far.state.refusal = text;
      const notify = [{ on: "failure" as const, uses: "mail", with: {}, step: step() }];
      const b: Bench = await bench({
        start: "2025-12-22T00:05Z",
        recipes: [asking({ notify })],
        client: () => Promise.resolve(client),
      });
      const client = far.connect(() => b.machine.monotonic());
      await using _ = b;
      await b.scheduler.start();
      await pass(b, 2 * 60); // slots at 00:10, 00:20 and so on
      const tries = far.logins();
      // The first login is at 00:10. The waits after it are 1, 3, 9 and 27 minutes, and then an hour. Each login is at
      // the first slot after the wait, so the next three are at 00:20, 00:30 and 00:40.
      assert(tries >= 4 && tries <= 6, `${tries} logins in two hours`);
      const states = await runsOf(b.store);
      assertEquals(states[0], "ask/s1/2025-12-22T00:10:00Z failed login live");
      assertEquals(states.filter((line) => line.includes(" failed login ")).length, tries);
      assertEquals(warningsOf(b).length, tries);
      assertStringIncludes(warningsOf(b)[0]!, "the broker refused the login for now (refusal 1 in a row)");
      assertEquals(await b.store.get("select count(*) as n from outbox where channel = 'mail'"), {
        n: tries,
      });
      assertEquals(await b.store.get("select count(*) as n from schedule where paused_reason is not null"), {
        n: 0,
      });
      const blocked = b.told.flatMap((event) => event.type === "held" ? [event.because] : []);
      assert(blocked.length > 0 && blocked.every((because) => because === "login"), blocked.join());
      // The maintenance ends: within the longest wait everything runs again, and the block is cleared.
      far.state.refusal = undefined;
      await pass(b, 75);
      const after = (await runsOf(b.store)).filter((line) => line.includes(" ok "));
      assert(after.length >= 1, (await runsOf(b.store)).join("\n"));
      assertEquals(far.logins(), tries + 1);
      await b.scheduler.stop();
    }
  },
);

testBoth(
  "with a wrong password, a scheduler and all later crontab starts together make only one login",
  async (kind) => {
    await using far = broker();
    far.state.refusal = "wrong trade password";
    await using place = await kind.place();
    const open = async () => inTestTime(await place.open());
    const marks = new Map<string, string>(); // cached as in the command line, because each mark takes time to compute
    const markOf = (password: string) => (_recipe: unknown, salt: string) => {
      const mark = marks.get(password + salt) ?? markPassword(password, salt);
      marks.set(password + salt, mark);
      return mark;
    };
    const passwordMarkOf = markOf("secret");
    const misfire = { graceMs: HOUR, action: "latest", max: 1 } as const;
    const eod = asking({ name: "eod", schedules: [every(HOUR)], misfire });
    const quiet = asking({ name: "quiet", needsAccount: false, schedules: [every(HOUR)], steps: [step()] });
    const b: Bench = await bench({
      start: "2025-12-22T00:05Z",
      recipes: [asking(), eod, quiet],
      store: await open(),
      client: () => Promise.resolve(client),
      passwordMarkOf,
    });
    const client = far.connect(() => b.machine.monotonic());
    await using _ = b;
    await b.scheduler.start();
    await pass(b, 70);
    assertEquals(far.logins(), 1);
    assertEquals(warningsOf(b).length, 1);
    assertStringIncludes(
      warningsOf(b)[0]!,
      "the broker refused the password: no process of this store tries a login until you change the password, or run: ",
    );
    assertStringIncludes(warningsOf(b)[0]!, "hsgate resume ask");
    assertEquals((await runsOf(b.store)).slice(0, 2), [
      "ask/s1/2025-12-22T00:10:00Z failed login live",
      "ask/s1/2025-12-22T00:20:00Z skipped paused live",
    ]);
    assert(
      (await runsOf(b.store)).includes("quiet/s1/2025-12-22T01:00:00Z ok live"),
      "recipes that need no login continue",
    );
    const told = await why(b.store, eod, {
      calendars: builtInCalendars,
      date: "2025-12-22",
      now: b.machine.now(),
    });
    assertStringIncludes(
      told,
      'the broker refused the password (found by run "ask/s1/2025-12-22T00:10:00Z")',
    );
    await b.scheduler.stop();

    // Each crontab start is a process of its own, with a new client.
    const start = async (password: string) => {
      await using store = await open();
      await using fresh = far.connect(() => b.machine.monotonic());
      const mark = markOf(password);
      const deps = {
        calendars: () => builtInCalendars,
        store,
        machine: b.machine,
        out: "",
        redactor: b.redactor,
        client: () => Promise.resolve(fresh),
        secret: () => Promise.reject(new TypeError("none")),
        passwordMarkOf: mark,
      };
      const claimer = {
        holder: crypto.randomUUID(),
        leaseMs: 30_000,
        accountOf: () => "default",
        passwordMarkOf: mark,
      };
      return (await runLatestSlot(eod, { deps, claimer }))?.outcome;
    };
    for (let count = 0; count < 5; count++) {
      b.machine.jump(HOUR);
      assertEquals(await start("secret"), { state: "refused", reason: "password" });
    }
    assertEquals(far.logins(), 1);
    // The stored data reveals nothing about the password.
    let kept = kind.name === "SQLite" ? await Deno.readTextFile(place.where) : "";
    for (const table of ["event", "lease", "log", "outbox", "run", "schedule", "step_run"]) {
      kept += JSON.stringify(await b.store.all(`select * from ${table}`));
    }
    assert(!kept.includes('"secret"'), "the password is in the store");
    const { data } =
      (await b.store.get<{ data: string }>("select data from event where kind = 'login_refused'"))!;
    assertEquals(JSON.parse(data).mark.length, 2);

    // A changed password is tried automatically.
    far.state.refusal = undefined;
    b.machine.jump(HOUR);
    const another = ["other", "third"].find((each) => {
      const { salt, mark } = JSON.parse(data);
      return markPassword(each, salt) !== mark;
    })!;
    assertEquals(await start(another), { state: "ok", reason: undefined });
    assertEquals(far.logins(), 2);
  },
);

testBoth(
  "a person allows the login again by resuming the recipe that found it rejected, not another recipe",
  async () => {
    await using far = broker();
    far.state.refusal = "密码错误";
    const eod = asking({ name: "eod", schedules: [every(HOUR)] });
    let client = undefined as ReturnType<typeof far.connect> | undefined;
    const b: Bench = await bench({
      start: "2025-12-22T00:05Z",
      recipes: [asking(), eod],
      client: () => Promise.resolve(client ??= far.connect(() => b.machine.monotonic())),
    });
    await using _ = b;
    await b.scheduler.start();
    await pass(b, 10);
    assertEquals(far.logins(), 1);
    far.state.refusal = undefined;
    client = undefined;
    await pauseRecipe(b.store, "eod", { why: "away", now: b.machine.now() });
    await resumeRecipe(b.store, eod, {
      calendars: builtInCalendars,
      ...listing(b.machine.now()),
      catchUp: false,
    });
    await pass(b, 60);
    assertEquals(far.logins(), 1);
    await resumeRecipe(b.store, asking(), {
      calendars: builtInCalendars,
      ...listing(b.machine.now()),
      catchUp: false,
    });
    await pass(b, 12);
    assertEquals(far.logins(), 2);
    assert((await runsOf(b.store)).some((line) => line.startsWith("ask") && line.includes(" ok ")));
    await b.scheduler.stop();
  },
);

testBoth("a step that catches a rejected login does not hide it", async () => {
  await using far = broker();
  far.state.refusal = "wrong password";
  const b: Bench = await bench({
    start: "2025-12-22T00:05Z",
    recipes: [asking({ steps: [step({ run: (context) => askFunds(context).catch(() => "fine") })] })],
    client: () => Promise.resolve(client),
  });
  const client = far.connect(() => b.machine.monotonic());
  await using _ = b;
  await b.scheduler.start();
  await pass(b, 40);
  await b.scheduler.stop();
  assertEquals([far.logins(), warningsOf(b).length], [1, 1]);
});
