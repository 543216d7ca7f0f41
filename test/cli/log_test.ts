import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { markPath } from "../../lib/store/mark.ts";
import { cli, envOf, folder, MORNING, simulate, spawned, start } from "./runner_support.ts";
import { directEnvOf, simulatePlatform } from "./support.ts";

/** Two steps, of which the second is skipped, at 10:00 in Hong Kong. */
const beat = `name: beat
schedule: { calendar: XHKG, at: open+30m }
misfire: { action: skip, grace: 2h }
steps:
  - { id: orders, uses: orders.today, with: { market: hk } }
  - { id: never, uses: account.funds, with: { market: hk }, if: "1 == 2" }
`;

/** Sets the watermark of every schedule back, so that a new schedule has missed a slot. */
async function wind(store: string, back: string): Promise<void> {
  await using open = await openSqlite(store);
  await open.run("update schedule set watermark = ?, updated_at = 0", Date.parse(back));
}

/** A spawned process uses the real time, so its slots must be current. */
const often = beat.replace("calendar: XHKG, at: open+30m", "every: 1s").replace("2h", "1h");

Deno.test("schedule writes JSON lines with level, run key and trace without a terminal, and columns on a terminal", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using dir = await folder({ "beat.yaml": beat });
  const store = `${dir.path}/store.db`;
  const words = ["schedule", dir.path, "--store", store, "--once"];
  await cli(words, { env: envOf(gateway) });
  await wind(store, "2025-08-14T00:00:00Z");
  const lines = (await cli(words, { env: envOf(gateway) })).out.trim().split("\n").map((line) =>
    JSON.parse(line)
  );
  const row = lines.find(({ type }) => type === "run-started");
  assertEquals(
    lines.map(({ type, level, recipe, runKey }) => [type, level, recipe, runKey]),
    [
      ["skipped", "warn", "beat", "beat/main/2025-08-14"],
      ["tick", "debug", undefined, undefined],
      ["run-started", "info", "beat", "beat/main/2025-08-15"],
      ["step-started", "debug", "beat", "beat/main/2025-08-15"],
      ["step-ended", "info", "beat", "beat/main/2025-08-15"],
      ["step-ended", "info", "beat", "beat/main/2025-08-15"],
      ["run-ended", "info", "beat", "beat/main/2025-08-15"],
    ],
  );
  for (const line of lines) {
    assertEquals([typeof line.message, Date.parse(line.at)], ["string", MORNING]);
    if (line.runKey === undefined) continue;
    assert(/^[0-9a-f]{32}$/.test(line.traceId), JSON.stringify(line));
    if (line.runKey === row.runKey) assertEquals(line.traceId, row.traceId);
  }
  const shown = await cli(["runs", "show", "beat/main/2025-08-15", "--store", store]);
  assertStringIncludes(shown.out, "never  skipped  0.0 s\n  condition\n");
  for (const path of [store, markPath(store)]) await Deno.remove(path);
  await cli(words, { env: envOf(gateway) });
  await wind(store, "2025-08-14T10:00:00Z");
  const text = (await cli(words, { env: envOf(gateway), columns: 120 })).out;
  assertEquals(
    // The trace id is not cut, because nobody can search for a cut id.
    text.replaceAll(/[0-9a-f]{32} {2}/g, "TRACE ").replaceAll(/\b0\.\d s/g, "0.0 s"),
    [
      "Fri 2025-08-15",
      "10:30:00  beat/main/2025-08-15  TRACE started, 1800.0 s late",
      "10:30:00  beat/main/2025-08-15  TRACE orders: ok, 0.0 s",
      "10:30:00  beat/main/2025-08-15  TRACE never: skipped, 0.0 s: condition",
      "10:30:00  beat/main/2025-08-15  TRACE ok, 0.0 s",
      "",
    ].join("\n"),
  );
});

Deno.test("schedule leaves out log lines below its level, by flag and by setting", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  for (
    const [flags, env, expected] of [
      [[], {}, ["debug", "info", "warn"]],
      [["--log-level", "info"], {}, ["info", "warn"]],
      [[], { HSGATE_LOG_LEVEL: "warn" }, ["warn"]],
      [["--log-level", "error"], { HSGATE_LOG_LEVEL: "warn" }, []],
    ] as const
  ) {
    await using dir = await folder({ "beat.yaml": beat });
    const store = `${dir.path}/store.db`;
    const words = ["schedule", dir.path, "--store", store, "--once", "--json", ...flags];
    const world = { env: { ...envOf(gateway), ...env } };
    await cli(words, world);
    await wind(store, "2025-08-14T00:00:00Z");
    const { code, out } = await cli(words, world);
    assertEquals(code, 0);
    const levels = out.trim().split("\n").filter(Boolean).map((line) => String(JSON.parse(line).level));
    assertEquals([...new Set(levels)].sort(), [...expected]);
  }
  const wrong = await cli(["schedule", "--log-level", "loud"]);
  assertEquals([wrong.code, wrong.err.includes('"debug", "info", "warn" or "error"')], [2, true], wrong.err);
});

type Attributes = { key: string; value: Record<string, unknown> }[];
interface Exported {
  spans: {
    name: string;
    traceId: string;
    spanId: string;
    parentSpanId: string;
    attributes: Attributes;
    status: { code: number };
    events: { name: string }[];
  }[];
  logs: { traceId: string; spanId: string; body: { stringValue: string } }[];
  metrics: Map<string, Attributes[]>;
  /** Every byte that was received. */
  text: string;
}

/** An OpenTelemetry receiver over HTTP. */
function receiver() {
  const got: Exported = { spans: [], logs: [], metrics: new Map(), text: "" };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    const text = await request.text();
    got.text += text;
    const body = JSON.parse(text);
    for (const { scopeSpans } of body.resourceSpans ?? []) {
      for (const { spans } of scopeSpans) got.spans.push(...spans);
    }
    for (const { scopeLogs } of body.resourceLogs ?? []) {
      for (const { logRecords } of scopeLogs) got.logs.push(...logRecords);
    }
    for (const { scopeMetrics } of body.resourceMetrics ?? []) {
      for (const { metrics } of scopeMetrics) {
        for (const { name, sum, histogram } of metrics) {
          const points: { attributes: Attributes }[] = (sum ?? histogram)?.dataPoints ?? [];
          got.metrics.set(name, points.map(({ attributes }) => attributes));
        }
      }
    }
    return new Response("{}", { headers: { "content-type": "application/json" } });
  });
  return {
    got,
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const plainOf = (attributes: Attributes) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

Deno.test("schedule with OTEL_DENO=true sends spans of runs, steps and requests, log lines linked to them, and metrics", async () => {
  await using gateway = await simulate({ fillsPerDay: 3 });
  await using otlp = receiver();
  await using dir = await folder({
    "beat.yaml": often.replace("steps:", "steps:\n  - { id: quote, uses: ./quote_step.ts }"),
    "quote_step.ts": `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  run(_params, { log }) {
    log("warn", "a word from the step");
    return Promise.resolve({});
  },
});
`,
    "late.yaml": beat.replace("name: beat", "name: late").replace("2h", "1s"),
    "deno.json": JSON.stringify({
      imports: { "hsgate/recipes": new URL("../../lib/recipes/mod.ts", import.meta.url).href },
    }),
  });
  const store = `${dir.path}/store.db`;
  const words = ["schedule", dir.path, "--store", store, "--once"];
  const env = { ...envOf(gateway), ...otlp.env };
  await spawned(words, { env: envOf(gateway) });
  {
    await using open = await openSqlite(store);
    await open.run("update schedule set watermark = watermark - 604800000 where recipe = 'late'");
  }
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const { code, out, err } = await spawned(words, { env });
  assertEquals([code, err], [0, ""]);
  const lines = out.trim().split("\n").map((line) => JSON.parse(line));
  const { spans, logs, metrics, text } = otlp.got;

  const runs = spans.filter(({ name }) => name === "hsgate.run");
  assert(runs.length >= 1, `${runs.length} runs`);
  await using open = await openSqlite(store);
  for (const run of runs) {
    const attributes = plainOf(run.attributes);
    assertEquals([attributes["hsgate.recipe"], attributes["hsgate.outcome"], run.parentSpanId], [
      "beat",
      "ok",
      "",
    ]);
    const row = await open.get<{ trace_id: string; span_id: string }>(
      "select trace_id, span_id from run where run_key = ?",
      String(attributes["hsgate.run.key"]),
    );
    assertEquals({ ...row }, { trace_id: run.traceId, span_id: run.spanId });
    assertEquals(run.events.map(({ name }) => name), ["hsgate.step.skipped"]);
  }
  const [run] = runs;
  assert(run !== undefined);
  const steps = spans.filter(({ name, parentSpanId }) =>
    name === "hsgate.step" && parentSpanId === run.spanId
  );
  assertEquals(steps.map(({ attributes }) => plainOf(attributes)["hsgate.step"]), ["quote", "orders"]);
  assertEquals(new Set(steps.map(({ traceId }) => traceId)), new Set([run.traceId]));
  const orders = steps[1]!;
  assertEquals(plainOf(orders.attributes), {
    "hsgate.recipe": "beat",
    "hsgate.run.key": plainOf(run.attributes)["hsgate.run.key"],
    "hsgate.step": "orders",
    "hsgate.step.uses": "orders.today",
    "hsgate.step.effect": "read",
    "hsgate.attempt": 1,
    "hsgate.outcome": "ok",
  });
  const requests = spans.filter(({ name, parentSpanId }) =>
    name === "POST" && parentSpanId === orders.spanId
  );
  assert(requests.length >= 1, "the span of the request belongs to the span of its step");

  // Each log line names the span in which it was written. This is true of the printed line and of the exported one.
  const said = lines.find(({ type, traceId }) => type === "log" && traceId === run.traceId);
  assertEquals([said.spanId, said.message], [steps[0]!.spanId, "a word from the step"]);
  const record = logs.find(({ body }) => body.stringValue.includes("a word from the step"));
  assert(record !== undefined && runs.some(({ traceId }) => traceId === record.traceId));

  const reasons = metrics.get("hsgate.run.skipped")?.map(plainOf);
  assert(
    reasons?.some(({ recipe, reason }) => recipe === "late" && reason === "misfire"),
    JSON.stringify(reasons),
  );
  assertEquals(metrics.get("hsgate.run.ended")?.map(plainOf), [{ recipe: "beat", state: "ok" }]);
  assertEquals(metrics.get("hsgate.run.lateness")?.map(plainOf), [{ recipe: "beat" }]);
  assert(metrics.has("hsgate.run.duration"));
  for (const secret of [envOf(gateway).HSGATE_TRADE_PASSWORD!, envOf(gateway).HSGATE_TRADE_PASSWORD_KEY!]) {
    assert(!text.includes(`"${secret}"`) && !text.includes(`=${secret}`), "no secret is exported");
  }
});

Deno.test("schedule imports no package for OpenTelemetry, and imports the metrics module only dynamically", async () => {
  const root = new URL("../../", import.meta.url);
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", new URL("tasks/commands/schedule/body.ts", root).pathname],
    stderr: "null",
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert(!text.includes("@opentelemetry"));
  const graph: {
    modules: { specifier: string; dependencies?: { isDynamic?: boolean; code?: { specifier: string } }[] }[];
  } = JSON.parse(text);
  const importers = graph.modules.flatMap(({ specifier, dependencies = [] }) =>
    dependencies.filter(({ code }) => code?.specifier?.endsWith("lib/runner/run/metrics.ts"))
      .map(({ isDynamic }) => [specifier.slice(root.href.length), isDynamic])
  );
  assertEquals(importers, [["tasks/commands/shared/observers.ts", true]]);
});

Deno.test("call over the direct transport leaves no secret in spans, and rejects addresses that contain one", async () => {
  await using platform = await simulatePlatform();
  await using otlp = receiver();
  await using leases = await folder({});
  const { mobile, loginPassword, tradePassword } = platform.info;
  const words = ["call", "account.exchangeRates", "--json"];
  const env = { ...directEnvOf(platform.info, leases.path), ...otlp.env };
  const asked: string[] = [];
  await using between = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      asked.push(pathname);
      const body = new URLSearchParams([
        ...new URLSearchParams(search),
        ...new URLSearchParams(await request.text()),
      ]);
      return await fetch(`${platform.info.authUrl}${pathname}`, { method: "POST", body });
    },
  );
  const through = { ...env, HSGATE_AUTH_URL: `http://127.0.0.1:${between.addr.port}` };
  const form = await spawned(words, { env: through });
  assertEquals(form.code, 0, form.err);
  assert(otlp.got.spans.some(({ name }) => name === "POST"), "requests to the platform are traced");
  assert(asked.length > 0);
  asked.length = 0;
  for (const command of [words, ["doctor", "--transport", "direct"]]) {
    const query = await spawned(command, { env: { ...through, HSGATE_PARAMETER_STYLE: "query" } });
    assertEquals(query.code, 2, query.out + query.err);
    assertStringIncludes(
      query.out + query.err,
      'Cannot use the direct transport: parameterStyle (HSGATE_PARAMETER_STYLE): expected "form" while OTEL_DENO is set',
    );
    for (const secret of [mobile, loginPassword, tradePassword]) {
      assert(
        !(query.out + query.err + otlp.got.text).includes(secret),
        "no secret in spans or in what is printed",
      );
    }
  }
  // The doctor only checks that a program listens there: it asks for "/" at most, and sends no query.
  assertEquals(asked.filter((path) => path !== "/"), []);
  // Without tracing, the same settings work.
  const { OTEL_DENO: _, ...quiet } = through;
  const untraced = await spawned(words, { env: { ...quiet, HSGATE_PARAMETER_STYLE: "query" } });
  assertEquals(untraced.code, 0, untraced.err);
});

/** A server that records its requests. */
function listener(answer = () => new Response("ok")) {
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (request) => {
    asked.push(`${new URL(request.url).pathname} ${await request.text()}`);
    return answer();
  });
  return {
    asked,
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Returns the bytes of all files below a folder as Latin-1 text. */
async function bytesBelow(path: string): Promise<string> {
  let text = "";
  for await (const { name, isDirectory } of Deno.readDir(path)) {
    text += isDirectory
      ? await bytesBelow(`${path}/${name}`)
      : new TextDecoder("latin1").decode(await Deno.readFile(`${path}/${name}`));
  }
  return text;
}

Deno.test("no secret is in the store, the log, the files, the telemetry or the list of processes", async () => {
  const password = "Tr4de-Pa55word";
  const key = "MDEyMzQ1Njc4OWFiY2RlZg==";
  const token = "tok/en&77=secret";
  await using gateway = await simulate({ fillsPerDay: 3, tradePassword: password, tradePasswordKey: key });
  await using otlp = receiver();
  await using hook = listener();
  await using dir = await folder({
    "beat.yaml": `name: beat
schedule: { every: 1s }
misfire: { grace: 1h }
secrets:
  token: { env: BEAT_TOKEN }
  hook: { env: BEAT_HOOK }
  check: { env: BEAT_CHECK }
ping: "\${secret:check}"
steps:
  - { id: orders, uses: orders.today, with: { market: hk } }
  - { id: leak, uses: ./leak_step.ts, with: { token: "\${secret:token}" } }
  - { id: worse, uses: ./leak_step.ts, with: { token: "\${secret:token}", fail: true } }
notify:
  - { on: failure, with: { webhook: "\${secret:hook}", data: "see the store" } }
`,
    "leak_step.ts": `import { defineStep } from "hsgate/recipes";
export default defineStep({
  effect: "read",
  params: { token: { type: "text" }, fail: { type: "boolean", default: false } },
  async run({ token, fail }, { log, progress }) {
    log("info", "the token is " + token, { token, list: [token] });
    progress({ text: "with " + encodeURIComponent(token) });
    await new Promise((resolve) => setTimeout(resolve, 300));
    if (fail) throw new Error("refused: " + token + " " + btoa(token));
    return { token, [token]: 1, header: "Basic " + btoa("me:" + token), json: JSON.stringify({ token }) };
  },
});
`,
    "deno.json": JSON.stringify({
      imports: { "hsgate/recipes": new URL("../../lib/recipes/mod.ts", import.meta.url).href },
    }),
  });
  const env = {
    ...envOf(gateway),
    HSGATE_TRADE_PASSWORD: password,
    HSGATE_TRADE_PASSWORD_KEY: key,
    HSGATE_PING_URL: `${hook.url}/alive-6f0c4a51`,
    BEAT_TOKEN: token,
    BEAT_HOOK: `${hook.url}/hook-d2a9f0b4`,
    BEAT_CHECK: `${hook.url}/check-93c1e5aa`,
    ...otlp.env,
  };
  const out = `${dir.path}/kept`;
  await Deno.mkdir(out);
  const words = ["schedule", dir.path, "--store", `${out}/store.db`, "--out", out];
  const process = start(words, { env });
  const stdout = new Response(process.stdout).text();
  const stderr = new Response(process.stderr).text();
  let processes = "";
  let files = "";
  const isTold = () => hook.asked.some((each) => each.startsWith("/hook-"));
  for (const began = performance.now(); !isTold() && performance.now() - began < 120_000;) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    processes += new TextDecoder().decode(
      (await new Deno.Command("ps", { args: ["-eo", "args"] }).output()).stdout,
    );
    // While the store is open, it has a write-ahead log next to it.
    files += await bytesBelow(out);
  }
  process.kill("SIGTERM");
  const printed = await stdout + await stderr;
  await process.status;
  assert(isTold(), printed.slice(0, 2_000));
  files += await bytesBelow(out);

  const shown = await cli(["runs", "--store", `${out}/store.db`, "--json", "--state", "failed"]);
  const runKey: string = JSON.parse(shown.out)[0].key;
  const details = (await cli(["runs", "show", runKey, "--store", `${out}/store.db`, "--json"])).out;
  assertStringIncludes(details, '"header":"Basic bWU6[secret]"');
  assertStringIncludes(details, "the token is [secret]");
  assert(hook.asked.some((each) => each.startsWith("/alive-6f0c4a51 ")), "the scheduler is alive");
  assert(hook.asked.some((each) => each.startsWith("/check-93c1e5aa/start ")), "a run began");
  assert(hook.asked.some((each) => each.startsWith("/check-93c1e5aa/fail ")), "and failed");

  const bodies = hook.asked.map((each) => each.slice(each.indexOf(" "))).join("\n");
  const places = { printed, files, processes, details, bodies, telemetry: otlp.got.text };
  const secrets = {
    password,
    key,
    token,
    "token in an address": encodeURIComponent(token),
    "token in Base64": btoa(token),
    "token in JSON": "tok/en",
    "address of the hook": "hook-d2a9f0b4",
    "address of the check": "check-93c1e5aa",
    "address of the scheduler's check": "alive-6f0c4a51",
  };
  for (const [place, text] of Object.entries(places)) {
    assert(text.length > 10, `${place} is empty`);
    for (const [name, secret] of Object.entries(secrets)) {
      assert(!text.includes(secret), `${name} is in ${place}: ${around(text, secret)}`);
    }
  }
});

function around(text: string, part: string): string {
  const at = text.indexOf(part);
  return text.slice(Math.max(0, at - 100), at + 60);
}
