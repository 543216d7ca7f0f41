/** Tests that an open push connection without data is detected, reported and replaced, however it was opened. */
import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { type Client, InvalidParamsError, type TransportEvent } from "../../mod.ts";
import { connectConfigured } from "../../lib/client/configured.ts";
import { gateway as gatewayTransport } from "../../lib/transports/gateway.ts";
import { InterruptedError } from "../../tasks/terminal/exit_codes.ts";
import { cli, envOf, KEY, MORNING, PASSWORD, simulate } from "../cli/support.ts";
import { isConnected, ORDER, TENCENT, until } from "../conformance/simulated_account.ts";
import { type SilentProxy, startSilentProxy } from "../support/silent_proxy.ts";

const IDLE_MS = 500;

/** A market in which a second takes 10 ms, so that quotes change often within the limit. */
function quickMarket() {
  const began = performance.now();
  return {
    pushIntervalMs: 30,
    clock: { now: () => MORNING + Math.floor((performance.now() - began) * 100) },
  };
}

/** Makes the connection silent, and reads events until the stream works again. */
async function silence(
  proxy: SilentProxy,
  events: AsyncIterator<TransportEvent>,
): Promise<TransportEvent[]> {
  proxy.fallSilent();
  return await until(events, isConnected);
}

function assertReplaced(seen: TransportEvent[]): void {
  const lost = seen.find((event) => event.type === "connection" && event.state === "lost");
  assert(lost?.type === "connection");
  assertEquals([lost.error?.code, lost.error?.message], [
    "idle",
    `Cannot read pushes: nothing arrived for ${IDLE_MS} ms`,
  ]);
  const gap = seen.find(({ type }) => type === "gap");
  assert(gap?.type === "gap");
  assertEquals(gap.from, lost.lastByteAt);
  assert(gap.to - gap.from >= IDLE_MS * 0.5, `silent from ${gap.from} to ${gap.to}`);
}

async function placedAndPushed(client: Client, events: AsyncIterator<TransportEvent>): Promise<void> {
  const { orderId } = await client.orders.place(ORDER);
  const pushed = (await until(events, ({ type }) => type === "order")).at(-1);
  assertEquals(pushed?.type === "order" && pushed.data.orderId, orderId);
}

Deno.test("connect() replaces a silent push connection, reports the gap, and receives order pushes again", async () => {
  await using gateway = await simulate(quickMarket());
  await using proxy = startSilentProxy(gateway.info.pushAddress);
  await using client = await connect({
    gateway: { url: gateway.info.gatewayUrl, push: proxy.address, pushIdleMs: IDLE_MS },
    tradePassword: PASSWORD,
    tradePasswordKey: KEY,
  });
  const events = client.watch({ securities: [TENCENT] });
  await until(events, ({ type }) => type === "quote");
  // Control: while quotes arrive, the connection stays the same for several times the limit.
  for (const end = Date.now() + 3 * IDLE_MS; Date.now() < end;) {
    const { value } = await events.next();
    assertEquals(value.type, "quote");
  }
  assertEquals(proxy.accepted, 1);
  assertReplaced(await silence(proxy, events));
  assertEquals(proxy.accepted, 2);
  await placedAndPushed(client, events);
  await until(events, ({ type }) => type === "quote"); // the subscription works again too
  await events.return?.();
});

Deno.test("pushIdleMs in a settings file or in the environment replaces a silent push connection", async () => {
  await using gateway = await simulate();
  const path = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    for (const way of ["file", "environment"]) {
      await using proxy = startSilentProxy(gateway.info.pushAddress);
      await Deno.writeTextFile(path, way === "file" ? `pushIdleMs: ${IDLE_MS}\n` : "{}\n");
      const env: Record<string, string> = {
        ...envOf(gateway),
        HSGATE_PUSH_ADDRESS: proxy.address,
        ...way === "environment" && { HSGATE_PUSH_IDLE_MS: String(IDLE_MS) },
      };
      await using client = await connectConfigured({ path, env: (name) => env[name] });
      const events = client.watch();
      await until(events, isConnected);
      assertReplaced(await silence(proxy, events));
      await events.return?.();
    }
  } finally {
    await Deno.remove(path);
  }
});

for (
  const { name, words, env } of [
    { name: "--push-idle", words: ["--push-idle", "0.5"], env: {} },
    { name: "HSGATE_PUSH_IDLE_MS", words: [], env: { HSGATE_PUSH_IDLE_MS: String(IDLE_MS) } },
  ]
) {
  Deno.test(`watch with ${name} reports since when nothing has arrived, and which changes may be missing`, async () => {
    await using gateway = await simulate(quickMarket());
    await using proxy = startSilentProxy(gateway.info.pushAddress);
    const controller = new AbortController();
    let isBack = false;
    const { code, out } = await cli(["watch", "00700.HK", ...words], {
      env: { ...envOf(gateway), HSGATE_PUSH_ADDRESS: proxy.address, ...env },
      signal: AbortSignal.any([controller.signal, AbortSignal.timeout(30_000)]),
      onLine: (line) => {
        if (line.includes("volume") && proxy.accepted === 1) proxy.fallSilent();
        isBack ||= line.includes("the stream is back");
        // When quotes arrive again after the break, the test aborts the command as Ctrl-C does.
        if (isBack && line.includes("volume")) controller.abort(new InterruptedError("interrupted"));
      },
    });
    assertEquals(code, 130, out);
    const time = String.raw`\d\d:\d\d:\d\d`;
    const lost = new RegExp(
      `lost the stream; nothing has arrived since ${time} HKT \\(Cannot read pushes: nothing arrived for 500 ms\\)`,
    );
    assert(lost.test(out), out);
    const back = new RegExp(`the stream is back: changes from ${time} to ${time} HKT may be missing`);
    assert(back.test(out), out);
  });
}

Deno.test("the default limit for a silent push connection is five minutes, and 0 switches the check off", async () => {
  await using gateway = await simulate();
  const { gatewayUrl: url, pushAddress: push } = gateway.info;
  const real = globalThis.setInterval;
  const delays: (number | undefined)[] = [];
  // The check for silence counts four ticks of one timer, so the timer's interval is a quarter of the limit.
  globalThis.setInterval = ((run: () => void, ms?: number) => {
    delays.push(ms);
    return real(run, ms);
  }) as typeof setInterval;
  try {
    for (const pushIdleMs of [undefined, 0, 40_000]) {
      await using client = await connect({ gateway: { url, push, pushIdleMs } });
      const events = client.watch();
      await until(events, isConnected);
      await events.return?.();
    }
  } finally {
    globalThis.setInterval = real;
  }
  assertEquals(delays.filter((ms) => ms === 75_000 || ms === 10_000), [75_000, 10_000]);
});

Deno.test("an invalid limit for silence is rejected before anything is sent", async () => {
  for (const pushIdleMs of [-1, NaN, 1.5, 86_400_001]) {
    assertThrows(() => gatewayTransport({ pushIdleMs }), RangeError, "Cannot use pushIdleMs");
  }
  const env = (name: string) => name === "HSGATE_PUSH_IDLE_MS" ? "five" : undefined;
  const error = await assertRejects(
    () => connectConfigured({ env, path: "no/such.yaml" }),
    InvalidParamsError,
  );
  assertStringIncludes(error.message, "pushIdleMs (HSGATE_PUSH_IDLE_MS)");
  const { code, err } = await cli(["watch", "00700.HK", "--push-idle", "soon"]);
  assertEquals(code, 2);
  assertStringIncludes(err, 'Cannot read --push-idle "soon"');
});
