/** Tests of notices: channels are independent, retried, given up, and listed. */
import { builtInCalendars } from "../../lib/calendars/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { measureRuns } from "../../lib/runner/run/metrics.ts";
import { TransportError } from "../../lib/errors.ts";
import { deliverNotices } from "../../lib/runner/notify/notify.ts";
import {
  countUnsent,
  noticesOf,
  retryNotices,
  unsentNotices,
  unsentText,
} from "../../lib/runner/notify/outbox.ts";
import type { SchedulerEvent } from "../../lib/runner/schedule/scheduler.ts";
import { why } from "../../lib/runner/explain/why.ts";
import type { CompiledNotice, CompiledStep } from "../../lib/recipes/compiled.ts";
import { compileRecipe } from "../../lib/recipes/mod.ts";
import { testBoth } from "./both_stores.ts";
import { type Bench, bench, DAY, HOUR, MINUTE, orders, recipe, settle, step } from "./support.ts";

const START = "2025-12-23T08:44Z";
const KEY = "eod/s1/2025-12-23";

/** A notice with its own channels. */
function notice(
  channels: Record<string, CompiledStep["run"]>,
  { on = "always", fallbacks = [] }: { on?: CompiledNotice["on"]; fallbacks?: string[] } = {},
): CompiledNotice {
  return {
    on,
    uses: "notify",
    with: {},
    step: step(),
    channels: Object.entries(channels).map(([name, run]) => ({
      name,
      isFallback: fallbacks.includes(name),
      step: step({ run }),
    })),
  };
}

const tries = ({ told }: Bench) =>
  told.flatMap((event) => event.type === "notice" ? [`${event.channel} ${event.state} ${event.tries}`] : []);

testBoth("a channel that hangs does not delay the others, and has its own time limit", async () => {
  const sentAt: number[] = [];
  let hung = 0;
  const notify = [notice({
    webhook: () => {
      hung++;
      return new Promise(() => {});
    },
    chat: () => Promise.resolve(void sentAt.push(b.machine.now())),
  })];
  // Both recipes are due at the same time; the second one's channel must not wait for the first one's.
  const other = recipe({
    name: "other",
    notify: [notice({ mail: () => Promise.resolve(void sentAt.push(b.machine.now())) })],
  });
  await using b = await bench({ start: START, recipes: [recipe({ notify }), other] });
  await b.scheduler.start();
  await b.machine.pass(MINUTE + 1000);
  const due = Date.parse("2025-12-23T08:45Z");
  assertEquals(sentAt.map((at) => at - due), [0, 0]);
  assertEquals(hung, 1);
  await b.machine.pass(30_000);
  assertEquals(tries(b).toSorted(), ["chat sent 1", "mail sent 1", "webhook failed 1"]);
  const [failed] = (await noticesOf(b.store, KEY)).filter(({ state }) => state === "failed");
  assertEquals(failed?.error, "Cannot notify by webhook: no answer within 20 s");
  await b.scheduler.stop();
});

testBoth(
  "a failed notice is reported at once, retried, given up with a report, and sent again on demand",
  async () => {
    let isUp = false;
    let sent = 0;
    const send = () =>
      isUp ? Promise.resolve(void sent++) : Promise.reject(new Error("no route to 4711secret"));
    await using b = await bench({ start: START, recipes: [recipe({ notify: [notice({ chat: send })] })] });
    b.redactor.add("4711secret", "a token");
    await b.scheduler.start();
    await b.machine.pass(MINUTE + 1000);
    const [first] = b.told.filter((event) => event.type === "notice");
    assertEquals(first, {
      type: "notice",
      at: Date.parse("2025-12-23T08:45Z"),
      runKey: KEY,
      recipe: "eod",
      notice: 1,
      channel: "chat",
      state: "failed",
      tries: 1,
      error: "no route to [secret]",
      nextTryAt: Date.parse("2025-12-23T08:45:30Z"),
      traceId: first?.traceId,
    });
    assertEquals(await countUnsent(b.store), { queued: 0, failed: 1, givenUp: 0 });
    await b.machine.pass(10 * HOUR);
    assertEquals(tries(b).at(-1), "chat given-up 12");
    assertEquals(await countUnsent(b.store), { queued: 0, failed: 0, givenUp: 1 });
    assertStringIncludes(
      unsentText(await countUnsent(b.store))!,
      "1 notice was not sent, and hsgate does not try again",
    );
    const kinds = await b.store.all<{ kind: string }>(
      "select kind from event where run_key = ? order by seq",
      KEY,
    );
    assertEquals(kinds.filter(({ kind }) => kind.startsWith("notice_")).map(({ kind }) => kind), [
      ...Array(11).fill("notice_failed"),
      "notice_given_up",
    ]);
    const told = await why(b.store, recipe(), {
      calendars: builtInCalendars,
      date: "2025-12-23",
      now: b.machine.now(),
    });
    assertStringIncludes(
      told,
      "its notice 1 by chat was not sent after 12 tries; hsgate does not try it again (see: hsgate notices): no route to [secret]",
    );
    // Control: nothing tries it automatically, but a person can send it.
    isUp = true;
    await b.machine.pass(5 * HOUR);
    assertEquals(sent, 0);
    await retryNotices(b.store, (await unsentNotices(b.store)).map(({ key }) => key), b.machine.now());
    await b.scheduler.deliver();
    assertEquals([sent, await countUnsent(b.store)], [1, { queued: 0, failed: 0, givenUp: 0 }]);
    assertEquals((await noticesOf(b.store, KEY)).map(({ state }) => state), ["sent"]);
    await b.scheduler.stop();
  },
);

testBoth("a fallback is sent once, when all other channels fail, and never after a success", async () => {
  for (const isUp of [true, false]) {
    const sent: string[] = [];
    const first = (name: string) => () =>
      isUp ? Promise.resolve(void sent.push(name)) : Promise.reject(new Error("down"));
    const notify = [notice({
      webhook: first("webhook"),
      chat: first("chat"),
      mail: () => Promise.resolve(void sent.push("mail")),
    }, { fallbacks: ["mail"] })];
    await using b = await bench({ start: START, recipes: [recipe({ notify })] });
    await b.scheduler.start();
    await b.machine.pass(MINUTE + 1000);
    // The fallback begins at the same instant at which the first channels end.
    await b.scheduler.deliver();
    await settle();
    assertEquals(sent, isUp ? ["webhook", "chat"] : ["mail"]);
    await b.machine.pass(HOUR);
    assertEquals(sent, isUp ? ["webhook", "chat"] : ["mail"]);
    await b.scheduler.stop();
  }
});

testBoth("two processes with one store send a notice once", async () => {
  let sent = 0;
  const notify = [notice({ chat: () => Promise.resolve(void sent++) })];
  await using b = await bench({ start: START, recipes: [recipe({ notify })] });
  const other = b.another("p2");
  await b.scheduler.start();
  await other.start();
  await b.machine.pass(5 * MINUTE);
  await Promise.all([b.scheduler.stop(), other.stop()]);
  assertEquals(sent, 1);
});

Deno.test("metrics count notices by recipe, channel and result", () => {
  const counted: unknown[] = [];
  const counter = (name: string) => ({
    add: (value: number, attributes: unknown) =>
      void (name === "hsgate.notice.tries" && counted.push([value, attributes])),
  });
  const { onSchedulerEvent } = measureRuns({
    createHistogram: () => ({ record() {} }),
    createCounter: counter,
  });
  const event: SchedulerEvent = {
    type: "notice",
    at: 0,
    runKey: KEY,
    recipe: "eod",
    notice: 1,
    channel: "mail",
    state: "given-up",
    tries: 12,
  };
  onSchedulerEvent(event);
  assertEquals(counted, [[1, { recipe: "eod", channel: "mail", state: "given-up" }]]);
});

testBoth("a notice can use every member of the outcome after a success, even if they are empty", async () => {
  const texts: string[] = [];
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    texts.push((await request.json()).text);
    return new Response();
  });
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const compiled = await compileRecipe(
    `name: eod
steps:
  - { id: one, uses: account.funds, with: { market: hk } }
notify:
  - on: success
    with: { webhook: "${url}", text: "state \${{ outcome.state }}, reason (\${{ outcome.reason }}), step (\${{ outcome.failedStep }}), error (\${{ outcome.error }})" }
  - on: success
    with: { webhook: "${url}", text: "session (\${{ session.date }}), funds (\${{ outputs.one.marketValue }})" }
  - on: success
    with: { webhook: "${url}", text: "\${{ outputs.one.marketValue }}" }
`,
    "eod.yaml",
  );
  const runs = compiled.steps.map((each) => ({ ...each, run: () => Promise.resolve({ available: "1.00" }) }));
  const given = recipe({ notify: compiled.notify, steps: runs });
  await using b = await bench({ start: START, recipes: [given] });
  await b.scheduler.start();
  await b.machine.pass(MINUTE + 1000);
  for (const end = Date.now() + 120_000; texts.length < 3 && Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await b.scheduler.stop();
  assertEquals(texts.toSorted(), [
    "eod is ok (2025-12-23)",
    "session (2025-12-23), funds ()",
    "state ok, reason (), step (), error ()",
  ]);
  const log = await b.store.all<{ text: string }>("select text from log where level = 'warn'");
  assert(log.some(({ text }) => text.startsWith('left empty: Cannot evaluate "outputs.one.marketValue"')));
});

testBoth(
  "a notice names a step whose write was withheld, and does not name a step that succeeded at a later attempt",
  async () => {
    const outcomes: unknown[] = [];
    const notify = [notice({ chat: ({ outcome }) => Promise.resolve(void outcomes.push(outcome)) })];
    const late = orders([], {
      notify,
      steps: [
        step({ id: "idle", effect: "write", condition: () => false }),
        step({ id: "look", run: () => Promise.resolve(b.machine.sleep(6 * HOUR)) }), // past the window
        step({ id: "buy", effect: "write" }),
        step({ id: "after", needs: ["buy"] }),
      ],
    });
    const b: Bench = await bench({ start: "2025-12-23T01:59:59Z", recipes: [late], leaseMs: DAY });
    await using _ = b;
    await b.scheduler.tick();
    b.machine.jump(1_000);
    await b.scheduler.tick();
    await b.scheduler.drain();
    await b.scheduler.deliver();
    const error = "its window closed at 2025-12-23T07:50:00Z";
    assertEquals(outcomes.splice(0), [{ state: "failed", reason: "window", failedStep: "buy", error }]);

    let tries = 0;
    const run = () => ++tries === 1 ? Promise.reject(new TransportError("no route")) : Promise.resolve();
    const retried = recipe({ notify, steps: [step({ retry: { attempts: 2, waitMs: 1_000 }, run })] });
    await using second = await bench({ start: START, recipes: [retried] });
    await second.scheduler.start();
    await second.machine.pass(2 * MINUTE);
    await second.scheduler.stop();
    assertEquals(outcomes, [{ state: "ok", reason: "", failedStep: "", error: "" }]);
  },
);

Deno.test("a notice with several channels is compiled into separate channels, followed by its fallback", async () => {
  const { notify } = await compileRecipe(
    `name: x
steps: [{ id: one, uses: account.funds, with: { market: hk } }]
notify:
  - on: failure
    with: { webhook: "http://127.0.0.1:1/", chat: { url: "http://127.0.0.1:2/" }, text: "hello" }
    fallback: { with: { mail: { to: a@example.com, from: b@example.com, host: mail.example.com } } }
  - on: failure
    with: { webhook: "http://127.0.0.1:1/" }
`,
    "x.yaml",
  );
  assertEquals(
    notify?.map(({ channels }) => channels?.map(({ name, isFallback }) => `${name}${isFallback ? "?" : ""}`)),
    [["webhook", "chat", "mail?"], ["webhook"]],
  );
});

testBoth("deliverNotices() leaves notices without a known channel to other processes", async () => {
  await using b = await bench({
    start: START,
    recipes: [recipe({ notify: [notice({ chat: () => Promise.reject(new Error("down")) })] })],
  });
  await b.scheduler.start();
  await b.machine.pass(MINUTE + 1000);
  await b.scheduler.stop();
  await b.machine.pass(MINUTE);
  assertEquals(await deliverNotices(b.store, () => undefined, b.machine), 0);
  assertEquals((await noticesOf(b.store, KEY)).map(({ tries }) => tries), [1]);
  assertEquals(await deliverNotices(b.store, () => () => Promise.resolve(), b.machine), 1);
});
