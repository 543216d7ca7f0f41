import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { postByFetch, serverOf } from "../../lib/transports/net/post_once.ts";
import { postQuietly } from "../../lib/transports/net/quiet_post.ts";
import { farEnd, json } from "../support/far_end.ts";

const TRACER = Symbol.for("opentelemetry.js.api.1");

/**
 * Makes the runtime look as if tracing is on, until disposed. While tracing is on, `postQuietly()` must give no address
 * to `fetch`, because a trace would show the address.
 */
function tracing(): Disposable {
  Reflect.set(globalThis, TRACER, { trace: {} });
  return { [Symbol.dispose]: () => void Reflect.deleteProperty(globalThis, TRACER) };
}

/** Answers one request with a text and resolves to the request. Then closes the connection or leaves it open. */
function answering(answer: string, { hangsUp = true, onRequest = () => {} } = {}) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const sent = (async () => {
    using connection = await listener.accept();
    const buffer = new Uint8Array(4096);
    let text = "";
    for (let count; (count = await connection.read(buffer)) !== null;) {
      text += new TextDecoder().decode(buffer.subarray(0, count));
      if (!text.endsWith("{}")) continue;
      await connection.write(new TextEncoder().encode(answer));
      onRequest();
      if (hangsUp) break;
    }
    return text;
  })();
  const { port } = listener.addr;
  return { url: `http://127.0.0.1:${port}/hook?key=1`, port, sent, [Symbol.dispose]: () => listener.close() };
}

const headers = { "content-type": "application/json" };

Deno.test("postQuietly() over its own connection returns the status even if the body is cut off", async () => {
  using _ = tracing();
  using end = answering("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 Fine\r\ncontent-length: 99\r\n\r\nhalf");
  const { signal } = new AbortController();
  assertEquals(await postQuietly(end.url, { headers, body: "{}", signal }), 204);
  const sent = await end.sent;
  assertStringIncludes(sent, `POST /hook?key=1 HTTP/1.1\r\nhost: 127.0.0.1:${end.port}\r\n`);
  assertStringIncludes(sent, "\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{}");
});

Deno.test("postQuietly() rejects with the signal's reason while an answer is missing", async () => {
  using _ = tracing();
  const controller = new AbortController();
  const onRequest = () => controller.abort(new RangeError("over"));
  using end = answering("HTTP/1.1 200 OK\r\n", { hangsUp: false, onRequest });
  const post = { headers, body: "{}", signal: controller.signal };
  await assertRejects(() => postQuietly(end.url, post), RangeError, "over");
  await end.sent;
});

Deno.test("postQuietly() rejects with the signal's reason during a TLS handshake", async () => {
  using _ = tracing();
  const controller = new AbortController();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepted = (async () => {
    const connection = await listener.accept();
    assert(await connection.read(new Uint8Array(4096)) !== null);
    controller.abort(new RangeError("over"));
    return connection;
  })();
  const url = `https://127.0.0.1:${listener.addr.port}/hook`;
  await assertRejects(() => postQuietly(url, { headers, signal: controller.signal }), RangeError, "over");
  (await accepted).close();
});

Deno.test("postQuietly() rejects an answer that is not HTTP", async () => {
  using _ = tracing();
  using end = answering("220 mail.example ESMTP\r\n\r\n");
  const { signal } = new AbortController();
  await assertRejects(() => postQuietly(end.url, { headers, body: "{}", signal }), Error, "not HTTP");
  await end.sent;
});

Deno.test("postQuietly() does not use the proxy of the environment for this machine", async () => {
  const asked: string[] = [];
  await using proxy = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    asked.push(request.url);
    return new Response();
  });
  using end = answering("HTTP/1.1 204 Fine\r\n\r\n");
  const url = `http://127.0.0.1:${proxy.addr.port}`;
  const root = new URL("../../", import.meta.url);
  const post = `import { postQuietly } from ${JSON.stringify(`${root}lib/transports/net/quiet_post.ts`)};
    const { signal } = new AbortController();
    console.log(await postQuietly(${JSON.stringify(end.url)}, { body: "{}", signal }));`;
  // The runtime reads the proxy once, at its start.
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", "--config", `${root.pathname}deno.json`, post],
    env: { HTTP_PROXY: url, ALL_PROXY: url, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assertEquals([out, asked], ["204\n", []], err);
  assertStringIncludes(await end.sent, "POST /hook?key=1 ");
});

Deno.test("postByFetch() never returns the second copy of an answer as the next answer", async () => {
  await using end = farEnd((_, index) => ({ ...json(String(index)), twice: true }));
  const { signal } = new AbortController();
  for (let index = 0; index < 20; index++) {
    const server = serverOf(new URL(end.url));
    const { text } = await postByFetch({ server, path: "/", body: "{}", signal, maxBytes: 100 });
    assertEquals(text, String(index));
  }
});
