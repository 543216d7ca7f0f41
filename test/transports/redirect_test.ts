import { assert, assertEquals } from "@std/assert";
import { createClient } from "../../lib/client/client.ts";
import { account } from "../../lib/operations/account.ts";
import { postQuietly } from "../../lib/transports/net/quiet_post.ts";
import { PlatformHttp } from "../../lib/transports/direct/platform_http.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import type { Settings } from "../../lib/client/settings.ts";
import { httpFindings } from "../../tasks/commands/doctor/platform_findings.ts";
import { KEY, PASSWORD } from "../cli/support.ts";

const STATUSES = [301, 302, 303, 307, 308];

/** Starts two servers. The first redirects every request to the second. */
function redirecting(status: number) {
  const arrived: string[] = [];
  const asked: string[] = [];
  const onListen = () => {};
  const elsewhere = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen }, async (request) => {
    arrived.push(`${request.method} ${request.url} ${await request.text()}`);
    return Response.json({ ok: true, err: "", data: { data: [] } });
  });
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen }, async (request) => {
    asked.push(`${request.method} ${await request.text()}`);
    const location = `http://127.0.0.1:${elsewhere.addr.port}${new URL(request.url).pathname}`;
    return new Response(null, { status, headers: { location } });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    arrived,
    asked,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await elsewhere.shutdown();
    },
  };
}

Deno.test("no client follows a redirect of any status", async () => {
  for (const status of STATUSES) {
    await using server = redirecting(status);
    const { url, asked, arrived } = server;
    let count = 0;
    /** Waits for a call, which must have reached only the first server. */
    const ended = async (what: string, call: () => Promise<unknown>) => {
      await call().catch(() => {});
      assert(asked.length > count, `${what} ${status}: nothing was asked`);
      count = asked.length;
      assertEquals(arrived, [], `${what} ${status}`);
    };
    await using client = createClient(gateway({ url, tradePasswordKey: KEY }), {
      tradePassword: PASSWORD,
      retry: { attempts: 1 },
    });
    await ended("a read", () => client.account.funds({ market: "hk" }));
    await ended("a login", () => client.account.login());
    await ended(
      "a write",
      () => client.orders.cancel({ market: "hk", orderId: "1", symbol: "00700.HK" }),
    );
    await ended("raw()", () => client.raw("trade", "TradeSomethingNew"));
    const signal = new AbortController().signal;
    await ended("a webhook", () => postQuietly(`${url}/T0KEN`, { body: "text", signal }));
    for (const parameters of ["form", "query"] as const) {
      const platform = new PlatformHttp({ url, parameters, timeoutMs: 60_000 });
      const context = { operation: account.login, transport: "direct", params: {} };
      await ended(
        `the platform by ${parameters}`,
        () => platform.post(context, "/login", { password: PASSWORD }),
      );
    }
    // This check of doctor needs only one setting.
    const settings = { authUrl: url } as Settings;
    await ended("doctor", async () => {
      for await (const finding of httpFindings(settings, Date.now, { timeoutMs: 60_000, signal })) {
        assert(finding);
      }
    });
  }
});

Deno.test("every fetch in the code forbids redirects", async () => {
  const root = new URL("../../", import.meta.url);
  const open: string[] = [];
  let calls = 0;
  async function look(folder: URL) {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const at = new URL(isDirectory ? `${name}/` : name, folder);
      if (isDirectory) await look(at);
      else if (name.endsWith(".ts")) {
        const code = (await Deno.readTextFile(at)).replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
        for (const { index } of code.matchAll(/(?<![\w.`])fetch\(/g)) {
          calls++;
          if (!/redirect: "manual"/.test(code.slice(index, index + 400))) open.push(at.pathname);
        }
      }
    }
  }
  for (const folder of ["lib/", "tasks/"]) await look(new URL(folder, root));
  assertEquals(calls, 2);
  assertEquals(open, []);
});
