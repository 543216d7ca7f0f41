import { assert, assertEquals } from "@std/assert";
import { postQuietly } from "../../lib/transports/net/quiet_post.ts";
import { Pinger, pingUrl } from "../../lib/runner/schedule/dead_man.ts";
import { Redactor } from "../../lib/redact.ts";
import { systemMachine } from "../../lib/time.ts";
import { bench, DAY, MINUTE, recipe, step } from "./support.ts";

/** A monitoring service that records its requests. */
function service(answer: (path: string) => Response | Promise<Response> = () => new Response("OK")) {
  const paths: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    paths.push(`${request.method} ${pathname} ${searchParams.get("rid") ?? ""}`.trimEnd());
    return answer(pathname);
  });
  return {
    paths,
    url: `http://127.0.0.1:${server.addr.port}/6f0c4a51-check`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

const head = { recipe: "eod", runKey: "eod/s1/2025-12-23", traceId: "1f", at: 0 };
const started = { ...head, type: "run-started" as const, attempt: 1, lateMs: 0, steps: [] };
const ended = (state: "ok" | "failed") => ({ ...head, type: "run-ended" as const, state, tookMs: 1 });

function pingerFor(url: string, given: Partial<ConstructorParameters<typeof Pinger>[0]> = {}) {
  const troubles: string[] = [];
  const redactor = new Redactor();
  const pinger = new Pinger({
    machine: systemMachine,
    redactor,
    post: (address, signal) => postQuietly(address, { signal }),
    urlOf: (name) => Promise.resolve(name === "eod" ? url : undefined),
    onTrouble: (text) => void troubles.push(text),
    ...given,
  });
  return { pinger, troubles, redactor };
}

Deno.test("Pinger sends start, success and fail in order, with one id for the run", async () => {
  await using hc = service();
  const { pinger, troubles, redactor } = pingerFor(hc.url);
  pinger.onEvent(started);
  pinger.onEvent(ended("ok"));
  pinger.onEvent(ended("failed"));
  pinger.onEvent({ ...started, recipe: "other" });
  await pinger.end();
  // UUIDv5 of the run key, computed with Python's uuid.uuid5.
  const rid = "fa286340-3fb6-55e7-8d04-3e12ab5afd0c";
  assertEquals([hc.paths, troubles], [[
    `POST /6f0c4a51-check/start ${rid}`,
    `POST /6f0c4a51-check ${rid}`,
    `POST /6f0c4a51-check/fail ${rid}`,
  ], []]);
  assertEquals(redactor.text(`at ${hc.url}/start and 6f0c4a51-check`), "at [secret]/start and [secret]");
});

Deno.test("Pinger retries temporary failures, and reports once that pings fail and once that they work again", async () => {
  let answers = [503, 404, 404, 200];
  await using hc = service(() => new Response(null, { status: answers.shift() ?? 200 }));
  const { pinger, troubles } = pingerFor(hc.url);
  for (let count = 0; count < 3; count++) pinger.onEvent(started);
  await pinger.end(10_000);
  assertEquals(hc.paths.length, 4); // a 503 is retried, a 404 is not
  const host = new URL(hc.url).host;
  assertEquals(troubles, [
    `cannot deliver pings for "eod": ${host}: it answered 404`,
    'pings for "eod" are delivered again',
  ]);
  answers = [];
});

Deno.test("Pinger delays nothing: at the end it gives up on an unreachable or slow service", async () => {
  const slow = Promise.withResolvers<Response>();
  await using hc = service(() => slow.promise);
  const began = performance.now();
  for (const url of [hc.url, "http://127.0.0.1:9/6f0c4a51-check"]) {
    const { pinger } = pingerFor(url, { aliveUrl: url });
    for (let count = 0; count < 100; count++) pinger.onEvent(started);
    pinger.onSchedulerEvent({ type: "tick", at: 0, listed: 0, tookMs: 0, full: true });
    assert(performance.now() - began < 60_000, "reporting events takes no time");
    await pinger.end(100);
  }
  assert(performance.now() - began < 90_000, `${performance.now() - began} ms`);
  slow.resolve(new Response());
});

Deno.test("Pinger pings each minute for the scheduler; a holiday counts as success, a missed slot as failure", async () => {
  const asked: string[] = [];
  const post = (url: string) => Promise.resolve(void asked.push(new URL(url).pathname)).then(() => 200);
  const bad = recipe({
    misfire: { graceMs: MINUTE, action: "skip", max: 1 },
    steps: [step({ run: () => Promise.reject(new Error("no")) })],
  });
  const made: { pinger?: Pinger } = {};
  await using b = await bench({
    start: "2025-12-24T08:00Z",
    recipes: [bad],
    onEvent: (event) => made.pinger?.onEvent(event),
    onSchedulerEvent: (event) => made.pinger?.onSchedulerEvent(event),
  });
  made.pinger = new Pinger({
    machine: b.machine,
    redactor: b.redactor,
    post,
    urlOf: () => Promise.resolve("https://hc.example/recipe"),
    aliveUrl: "https://hc.example/alive",
  });
  await b.scheduler.start();
  await b.machine.pass(3 * MINUTE);
  assertEquals(asked, Array(4).fill("/alive"));
  asked.length = 0;
  // Jumps over two holidays, on which Hong Kong is closed, to Monday after its slot. So Monday's slot is missed.
  b.machine.sleep(5 * DAY + 60 * MINUTE);
  await b.machine.pass(2 * MINUTE);
  await b.scheduler.stop();
  await made.pinger.end(0);
  assertEquals(asked.filter((path) => path === "/recipe").length, 2);
  assertEquals(asked.filter((path) => path === "/recipe/fail").length >= 1, true, asked.join());
});

Deno.test("pingUrl() keeps the path and query of the address", async () => {
  assertEquals(await pingUrl("https://hc.example/a/b?x=1", "fail"), "https://hc.example/a/b/fail?x=1");
});
