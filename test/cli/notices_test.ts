/** Tests that commands report unsent notices, and can send them again. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { cli, envOf, folder, simulate, trustAll } from "./support.ts";

/** Returns a port on which no program listens. */
function deadPort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/** A webhook server that records the texts. */
function startHook(port = 0) {
  const texts: string[] = [];
  const server = Deno.serve({ port, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    texts.push((await request.json()).text);
    return new Response();
  });
  return Object.assign(server, { texts });
}

const recipeText = (notify: string) =>
  `name: eod
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
notify:
${notify}`;

const byWebhook = (port: number) =>
  `  - { on: always, with: { webhook: "http://127.0.0.1:${port}/", text: "it is \${{ outcome.state }}" } }\n`;

interface Work extends AsyncDisposable {
  path: string;
  store: string;
  env: Record<string, string>;
  /** Runs a command line with the store. */
  hsgate(...words: string[]): Promise<{ code: number; out: string; err: string }>;
}

async function work(text: string): Promise<Work> {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await simulate());
  const dir = stack.use(await folder());
  const path = `${dir.path}/eod.yaml`;
  const store = `${dir.path}/l.db`;
  await Deno.writeTextFile(path, text);
  await trustAll(path);
  const env = { ...envOf(gateway), HSGATE_STORE: store };
  return {
    path,
    store,
    env,
    hsgate: (...words) => cli(words, { env, files: { [path]: text } }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("an unsent notice is reported by run --manual, runs, runs show, notices and doctor, until it is sent", async () => {
  const port = deadPort();
  await using at = await work(recipeText(byWebhook(port)));
  const reason = `Cannot notify by webhook: 127.0.0.1:${port}: it cannot be reached`;
  const ran = await at.hsgate("run", at.path, "--manual");
  assertEquals(ran.code, 0);
  const key = /run key (\S+)/.exec(ran.out)![1]!;
  const all =
    '1 notice was not sent: "hsgate notices" lists them, and "hsgate notices --send" sends them again';
  assertEquals(ran.err.split("\n").filter((line) => line.includes("warning")), [
    `hsgate: warning: ${key}: notice 1 by webhook was not sent: ${reason}`,
    `hsgate: warning: ${all}`,
  ]);

  assertStringIncludes((await at.hsgate("runs")).err, `hsgate: warning: ${all}`);
  const shown = await at.hsgate("runs", "show", key);
  assertStringIncludes(shown.out, `notice 1 by webhook  failed: ${reason}`);
  const [row] = JSON.parse((await at.hsgate("runs", "show", key, "--json")).out).notices;
  assertEquals([row.channel, row.state, row.tries, row.error], ["webhook", "failed", 1, reason]);

  const listed = await at.hsgate("notices");
  assertEquals(listed.code, 0);
  assert(
    new RegExp(`^${key} +1 +webhook +failed +1 +2025-\\S+ +${reason}$`, "m").test(listed.out),
    listed.out,
  );
  assertEquals(JSON.parse((await at.hsgate("notices", "--failed", "--json")).out).length, 1);
  assertEquals(JSON.parse((await at.hsgate("notices", key.slice(0, -3), "--json")).out).length, 1);
  const finding = async () => {
    const { findings } = JSON.parse((await at.hsgate("doctor", "--json")).out);
    const { state, text } = findings.find(({ check }: { check: string }) => check === "notices");
    return [state, text];
  };
  assertEquals(await finding(), ["warning", `1 not sent, 0 of them given up; the oldest: ${reason}`]);
  const setTries = async (tries: number) => {
    await using store = await openSqlite(at.store);
    await store.run("update outbox set tries = ?", tries);
  };
  await setTries(0);
  assertEquals(await finding(), ["ok", "1 not tried yet; a scheduler sends them"]);
  await setTries(1);

  const again = await at.hsgate("notices", "--send", "--recipes", at.path.replace(/\/[^/]*$/, ""));
  assertEquals(again.code, 1);
  assertStringIncludes(again.err, `notice 1 by webhook was not sent: ${reason}`);
  await using hook = startHook(port);
  const sent = await at.hsgate("notices", "--send", "--recipes", at.path.replace(/\/[^/]*$/, ""));
  assertEquals([sent.code, sent.out], [0, `${key}: notice 1 by webhook was sent\n`], sent.err);
  assertEquals(hook.texts, ["it is ok"]);
  // Control: nothing is left, and no command warns.
  assertEquals((await at.hsgate("notices")).out, "there are no unsent notices\n");
  assertEquals((await at.hsgate("runs")).err, "");
  assertStringIncludes((await at.hsgate("runs", "show", key)).out, "notice 1 by webhook  sent");
  await at.hsgate("notices", "--send", "--recipes", at.path.replace(/\/[^/]*$/, ""));
  assertEquals(hook.texts.length, 1);
});

Deno.test("notices --dismiss removes notices from the list, and the run keeps a record of the removal", async () => {
  await using at = await work(recipeText(byWebhook(deadPort())));
  const ran = await at.hsgate("run", at.path, "--manual");
  const key = /run key (\S+)/.exec(ran.out)![1]!;
  assertEquals((await at.hsgate("notices", "--send", "--dismiss")).code, 2);
  const { code, out } = await at.hsgate("notices", "--failed", "--dismiss", "--by", "ann");
  assertEquals([code, out], [0, "1 notice was removed from the list\n"]);
  assertEquals((await at.hsgate("runs")).err, "");
  assertEquals((await at.hsgate("notices", "--json")).out, "[]\n");
  const { events } = JSON.parse((await at.hsgate("runs", "show", key, "--json")).out);
  const note = events.find(({ kind }: { kind: string }) => kind === "notice_dismissed");
  assertEquals([note.data.channel, note.data.actor], ["webhook", "ann"]);
});

Deno.test("run --manual sends the fallback when the first channel fails, and says what failed", async () => {
  await using hook = startHook();
  const notify = `  - on: always
    with: { chat: { url: "http://127.0.0.1:${deadPort()}/" } }
    fallback: { with: { webhook: "http://127.0.0.1:${hook.addr.port}/" } }
`;
  await using at = await work(recipeText(notify));
  const { code, out, err } = await at.hsgate("run", at.path, "--manual", "--json");
  assertEquals(code, 0, err);
  assertStringIncludes(err, "notice 1 by chat was not sent: Cannot notify by chat:");
  const { notices } = JSON.parse(out);
  assertEquals(
    notices.map(({ notice, channel, state }: Record<string, unknown>) => `${notice} ${channel} ${state}`),
    ["1 chat failed", "1 webhook sent"],
  );
  assertEquals(hook.texts.length, 1);
});

Deno.test("a run without a store says that it sends no notices", async () => {
  await using at = await work(recipeText(byWebhook(deadPort())));
  delete at.env.HSGATE_STORE;
  const { code, err } = await at.hsgate("run", at.path);
  assertEquals(code, 0);
  assertStringIncludes(
    err,
    'hsgate: warning: "eod" declares notices, but a run without a store sends none: use --store',
  );
});

Deno.test("notify --test sends a test by every channel of a recipe, even if other channels fail", async () => {
  await using hook = startHook();
  const dead = deadPort();
  const notify = `${byWebhook(hook.addr.port)}  - on: failure
    with: { webhook: "http://127.0.0.1:${dead}/", chat: { url: "http://127.0.0.1:${hook.addr.port}/" } }
    fallback: { with: { webhook: "http://127.0.0.1:${hook.addr.port}/" } }
`;
  await using at = await work(recipeText(notify));
  const { code, out } = await at.hsgate("notify", "--test", at.path);
  assertEquals(code, 1);
  assertEquals(out.trimEnd().split("\n"), [
    "notice 1 (always) by webhook  sent",
    `notice 2 (failure) by webhook  not sent: Cannot notify by webhook: 127.0.0.1:${dead}: it cannot be reached`,
    "notice 2 (failure) by chat  sent",
    "notice 2 (failure) by webhook, fallback  sent",
  ]);
  const test = (which: string) => `Test by hsgate: notice ${which}. This is only a test.`;
  assertEquals(hook.texts.toSorted(), [
    test('1 of "eod" by webhook'),
    test('2 of "eod" by chat'),
    test('2 of "eod" by webhook (fallback)'),
  ]);
  // The command created no store.
  await assertNoFile(at.store);
  assertEquals((await at.hsgate("notify", at.path)).code, 2);
});

Deno.test("notify --test sends a test by each step that notifies, whatever the step's condition and text need", async () => {
  await using hook = startHook();
  const address = `http://127.0.0.1:${hook.addr.port}/`;
  const recipe = `name: eod
steps:
  - { id: funds, uses: account.funds, with: { market: hk } }
  - id: warn
    uses: notify
    if: decimalCompare(outputs.funds.available, "-1") < 0
    with: { webhook: "${address}", chat: { url: "${address}" }, text: "low: \${{ outputs.funds.available }}" }
`;
  await using at = await work(recipe);
  const { code, out, err } = await at.hsgate("notify", "--test", at.path);
  assertEquals([code, out], [0, 'step "warn" by webhook and chat  sent\n'], err);
  const text = 'Test by hsgate: step "warn" of "eod" by webhook and chat. This is only a test.';
  assertEquals(hook.texts, [text, text]);
  const { out: json } = await at.hsgate("notify", "--test", at.path, "--json");
  assertEquals(JSON.parse(json), [{ step: "warn", channel: "webhook and chat", sent: true }]);
});

async function assertNoFile(path: string): Promise<void> {
  const found = await Deno.stat(path).then(() => true, () => false);
  assertEquals(found, false, path);
}
