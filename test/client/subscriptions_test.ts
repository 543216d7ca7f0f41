import { assertEquals, assertRejects } from "@std/assert";
import { InvalidParamsError, TransportError } from "../../lib/errors.ts";
import { Subscriptions, type WatchedSecurity, watchFilter } from "../../lib/client/subscriptions.ts";
import type { PushEvent } from "../../lib/operations/public_types.ts";

const stock = (symbol: string): WatchedSecurity => ({ type: "us-stock", symbol });
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => stock(`S${from + index}`));

/** Subscriptions that record their calls. A call fails if `failing` returns true for its line. */
function recorded(failing: (line: string) => boolean = () => false) {
  const lines: string[] = [];
  const send = (verb: string) => async (topic: string, securities: WatchedSecurity[]) => {
    const line = `${verb} ${topic} ${securities.map(({ symbol }) => symbol).join(",")}`;
    lines.push(line);
    await Promise.resolve();
    if (failing(line)) throw new TransportError(`Cannot ${line}`);
  };
  return { lines, subscriptions: new Subscriptions({ subscribe: send("+"), unsubscribe: send("-") }) };
}

Deno.test("add() subscribes each topic to the securities that are new; the end of a watch unsubscribes those that no other watch needs", async () => {
  const { lines, subscriptions } = recorded();
  const first = await subscriptions.add({ topics: ["quote", "tick"], securities: [stock("A"), stock("B")] });
  const second = await subscriptions.add({ topics: ["quote"], securities: [stock("B"), stock("C")] });
  assertEquals(lines, ["+ quote A,B", "+ tick A,B", "+ quote C"]);
  await first();
  await first();
  assertEquals(lines.slice(3), ["- quote A", "- tick A,B"]);
  assertEquals([...subscriptions.current], [["quote", [stock("B"), stock("C")]]]);
  await second();
  assertEquals(lines.slice(5), ["- quote B,C"]);
  assertEquals(subscriptions.size, 0);
});

Deno.test("remove() cancels what keep() added and even what this client never subscribed, but nothing that a running watch needs", async () => {
  const { lines, subscriptions } = recorded();
  const wanted = { topics: ["quote" as const], securities: [stock("A"), stock("B")] };
  const end = await subscriptions.add({ topics: ["quote"], securities: [stock("A")] });
  await subscriptions.keep(wanted);
  await subscriptions.keep(wanted);
  assertEquals(lines.splice(0), ["+ quote A", "+ quote B"]);
  await subscriptions.remove(wanted);
  assertEquals(lines.splice(0), []);
  await subscriptions.remove({ ...wanted, securities: [...wanted.securities, stock("C")] });
  assertEquals(lines.splice(0), ["- quote B", "- quote C"]);
  await subscriptions.remove(wanted);
  assertEquals(lines.splice(0), ["- quote B"]);
  assertEquals([...subscriptions.current], [["quote", [stock("A")]]]);
  await end();
  assertEquals(lines, ["- quote A"]);
  assertEquals(subscriptions.size, 0);
});

Deno.test("the subscriptions of keep() stay when a watch of the same securities ends", async () => {
  const { lines, subscriptions } = recorded();
  const wanted = { topics: ["tick" as const], securities: [stock("A")] };
  const end = await subscriptions.add(wanted);
  await subscriptions.keep(wanted);
  await end();
  assertEquals(lines, ["+ tick A"]);
  await subscriptions.remove(wanted);
  assertEquals(lines, ["+ tick A", "- tick A"]);
});

Deno.test("add() sends each pair of a topic and a security once, although it is given twice", async () => {
  const { lines, subscriptions } = recorded();
  const end = await subscriptions.add({ topics: ["tick", "tick"], securities: [stock("A"), stock("A")] });
  await end();
  assertEquals(lines, ["+ tick A", "- tick A"]);
});

Deno.test("add() accepts 200 different securities over all topics, and rejects one more before sending", async () => {
  const { lines, subscriptions } = recorded();
  await subscriptions.add({ topics: ["quote"], securities: many(150) });
  await subscriptions.add({ topics: ["tick"], securities: many(200) });
  assertEquals(subscriptions.size, 200);
  const error = await assertRejects(
    () => subscriptions.add({ topics: ["tick"], securities: many(2, 199) }),
    InvalidParamsError,
    "Cannot subscribe: securities: expected at most 200 securities at once over all topics",
  );
  assertEquals(error.issues[0]?.value, "1 more, with 200 already subscribed");
  assertEquals(lines.length, 2);
  assertEquals(subscriptions.size, 200);
});

Deno.test("if one topic fails, add() cancels this topic and the topics before it", async () => {
  const { lines, subscriptions } = recorded((line) => line.startsWith("+ tick"));
  await assertRejects(
    () => subscriptions.add({ topics: ["quote", "tick", "order-book"], securities: [stock("A")] }),
    TransportError,
    "Cannot + tick A",
  );
  assertEquals(lines, ["+ quote A", "+ tick A", "- quote A", "- tick A"]);
  assertEquals(subscriptions.size, 0);
});

Deno.test("a watch's subscription, its end and the next subscription reach the gateway one after the other", async () => {
  const { lines, subscriptions } = recorded();
  const adding = subscriptions.add({ topics: ["quote"], securities: [stock("A")] });
  const again = adding.then((end) => {
    const ending = end();
    return Promise.all([ending, subscriptions.add({ topics: ["quote"], securities: [stock("A")] })]);
  });
  await again;
  assertEquals(lines, ["+ quote A", "- quote A", "+ quote A"]);
  assertEquals(subscriptions.size, 1);
});

Deno.test("resend() subscribes to everything, even after a rejected topic", async () => {
  let failing = false;
  const { lines, subscriptions } = recorded((line) => failing && line.startsWith("+ tick"));
  await subscriptions.add({ topics: ["tick", "quote"], securities: [stock("A"), stock("B")] });
  failing = true;
  lines.length = 0;
  await assertRejects(() => subscriptions.resend(), TransportError, "Cannot + tick A,B");
  assertEquals(lines, ["+ tick A,B", "+ quote A,B"]);
  failing = false;
  await subscriptions.resend();
  assertEquals(lines.slice(2), ["+ tick A,B", "+ quote A,B"]);
});

Deno.test("resend() sends nothing when nothing is subscribed", async () => {
  const { lines, subscriptions } = recorded();
  await subscriptions.resend();
  assertEquals(lines, []);
});

Deno.test("the end of a watch removes it even if the gateway cannot be reached", async () => {
  const { subscriptions } = recorded((line) => line.startsWith("-"));
  const end = await subscriptions.add({ topics: ["quote"], securities: [stock("A")] });
  await assertRejects(() => end(), TransportError);
  assertEquals(subscriptions.size, 0);
});

Deno.test("watchFilter() passes the pushes of its topics and securities, and all connection events", () => {
  const fits = watchFilter({ topics: ["quote", "arca-book"], securities: [stock("A")] });
  const security = { type: "us-stock" as const, symbol: "A" };
  const quote: PushEvent = { type: "quote", sentAt: 1, data: { security } };
  assertEquals(fits(quote), true);
  assertEquals(fits({ ...quote, data: { security: { ...security, symbol: "B" } } }), false);
  assertEquals(fits({ ...quote, data: {} }), true);
  assertEquals(fits({ type: "tick", sentAt: 1, data: { security } }), false);
  assertEquals(
    fits({ type: "book", sentAt: 1, data: { security, side: "buy", levels: [], session: "regular" } }),
    true,
  );
  assertEquals(fits({ type: "order", sentAt: 1, data: { symbol: "A" } }), false);
  assertEquals(fits({ type: "gap", from: 1, to: 2, reason: "x" }), true);
  assertEquals(fits({ type: "connection", state: "lost" }), true);
});
