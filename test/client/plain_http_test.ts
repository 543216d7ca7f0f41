import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { connect } from "../../lib/client/connect.ts";
import { loadSettings } from "../../lib/client/load_settings.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { isOpenToOthers } from "../../lib/loopback.ts";
import { allowPlainPosts, postQuietly } from "../../lib/transports/net/quiet_post.ts";
import { gateway } from "../../lib/transports/gateway.ts";
import { folder } from "../cli/runner_support.ts";
import { cli, ENCRYPTED, KEY, PASSWORD, simulate } from "../cli/support.ts";

/** An address that is reserved for documentation. A test must not send anything to it. */
const REMOTE = "http://192.0.2.1:9";

/** An HTTP server that records what it receives, and answers like a gateway without data. */
function listener() {
  const got: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    got.push(`${request.url} ${await request.text()}`);
    return Response.json({ ok: false, err: "1012", data: null });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    got,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("a gateway and a push port on another machine are rejected unless plain HTTP is allowed explicitly", async () => {
  for (
    const url of [
      REMOTE,
      "http://gateway.lan:11111",
      "http://[2001:db8::1]:1",
      "http://127.0.0.1.evil.example",
    ]
  ) {
    assertThrows(() => gateway({ url }), TypeError, "it is on another machine");
    await assertRejects(() => connect({ gateway: url }), TypeError, "--plain-http");
    gateway({ url, plainHttp: true });
  }
  assertThrows(() => gateway({ push: "192.0.2.1:11112" }), TypeError, "push port");
  gateway({ push: "192.0.2.1:11112", plainHttp: true });
  for (const url of ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "http://127.9.9.9"]) {
    gateway({ url });
  }
  assert(isOpenToOthers(new URL(REMOTE)) && !isOpenToOthers(new URL("https://192.0.2.1")));
});

Deno.test("commands reject a gateway on another machine, given by flag, environment or file, and show no secret", async () => {
  const files = { "hsgate.yaml": `gatewayUrl: ${REMOTE}\n` };
  const secrets = { HSGATE_TRADE_PASSWORD: PASSWORD, HSGATE_TRADE_PASSWORD_KEY: KEY };
  for (
    const words of [["call", "account.funds", '{"market":"hk"}'], ["doctor"], ["login"], [
      "quote",
      "00700.HK",
    ]]
  ) {
    const given = [
      await cli([...words, "--gateway", REMOTE], { env: secrets }),
      await cli(words, { env: { ...secrets, HSGATE_GATEWAY_URL: REMOTE } }),
      await cli([...words, "--config", "hsgate.yaml"], { env: secrets, files }),
    ];
    for (const { code, err } of given) {
      assertEquals(code, 2, err);
      assertStringIncludes(err, "it is on another machine");
      assertStringIncludes(err, "plainHttp: allow, HSGATE_PLAIN_HTTP=allow or --plain-http");
      assert(!err.includes(PASSWORD) && !err.includes(KEY));
    }
  }
});

Deno.test("a gateway that only a recipe names gets no password, even if the settings name no gateway at all", async () => {
  await using elsewhere = listener();
  await using dir = await folder({
    "r.yaml": `name: r\nconnect: { gateway: "${elsewhere.url}" }\nsteps:\n` +
      "  - { id: f, uses: account.funds, with: { market: hk } }\n",
    "far.yaml": `name: far\nconnect: { gateway: "${REMOTE}" }\nsteps:\n` +
      "  - { id: f, uses: account.funds, with: { market: hk } }\n",
  });
  const run = async (name: string, env: Record<string, string>, words: string[] = []) => {
    const path = `${dir.path}/${name}`;
    const files = { [path]: Deno.readTextFileSync(path) };
    return await cli(["run", path, "--out", dir.path, ...words], { env, files });
  };
  const secrets = { HSGATE_TRADE_PASSWORD: PASSWORD, HSGATE_TRADE_PASSWORD_KEY: KEY };
  for (const more of [[], ["--store", `${dir.path}/l.db`]]) {
    const { err, out } = await run("r.yaml", secrets, more);
    assertStringIncludes(out + err, "belongs to http://127.0.0.1:11111: hsgate does not send it");
  }
  assert(elsewhere.got.length > 0);
  assertEquals(elsewhere.got.filter((each) => each.includes(ENCRYPTED) || /login/i.test(each)), []);
  // Control: the user names that gateway, and it gets the password.
  await run("r.yaml", { ...secrets, HSGATE_GATEWAY_URL: elsewhere.url });
  assert(elsewhere.got.some((each) => each.includes(ENCRYPTED)));
  const far = await run("far.yaml", secrets);
  assertStringIncludes(far.err + far.out, "it is on another machine");
});

Deno.test("notices and pings go to other machines only over https, unless plain HTTP is allowed explicitly", async () => {
  const signal = new AbortController().signal;
  const url = "http://hooks.example/T0KEN";
  const error = await assertRejects(
    () => postQuietly(url, { signal }),
    TypeError,
    "Cannot post to hooks.example",
  );
  assert(!error.message.includes("T0KEN"));
  await using here = listener();
  assertEquals(await postQuietly(here.url, { body: "x", signal }), 200);
  await using dir = await folder({
    "r.yaml": "name: r\nconnect: simulator\nsteps:\n" +
      `  - { id: n, uses: notify, with: { text: hello, webhook: "http://192.0.2.1:9/hook" } }\n`,
  });
  const path = `${dir.path}/r.yaml`;
  const { code, out, err } = await cli(["run", path], { files: { [path]: Deno.readTextFileSync(path) } });
  assertEquals(code, 1);
  assertStringIncludes(
    out + err,
    "Cannot notify by webhook: 192.0.2.1:9: its address is plain HTTP to another machine",
  );
  const pings = (env: Record<string, string>) =>
    loadSettings({
      env: (name) => env[name],
      readFile: () => Promise.resolve(undefined),
      path: "hsgate.yaml",
      required: false,
    });
  const ping = await assertRejects(
    () => pings({ HSGATE_PING_URL: url }),
    InvalidParamsError,
    "an https address",
  );
  assert(!ping.message.includes("T0KEN"));
  await pings({ HSGATE_PING_URL: url, HSGATE_PLAIN_HTTP: "allow" });
  await pings({ HSGATE_PING_URL: "https://hooks.example/T0KEN" });
});

Deno.test("--plain-http allows plain HTTP only for one command", async () => {
  await using gateway = await simulate();
  const { gatewayUrl } = gateway.info;
  await cli(["doctor", "--gateway", gatewayUrl, "--plain-http"]);
  const signal = AbortSignal.abort(new Error("nothing is to be sent"));
  await assertRejects(() => postQuietly("http://hooks.example/", { signal }), Error, "nothing is to be sent");
  await cli(["doctor", "--gateway", gatewayUrl]);
  await assertRejects(
    () => postQuietly("http://hooks.example/", { signal: new AbortController().signal }),
    TypeError,
    "plain HTTP",
  );
  allowPlainPosts(false);
});
