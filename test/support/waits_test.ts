import { assertEquals, assertRejects } from "@std/assert";
import { readUntil, waitUntil, within } from "./waits.ts";

const textOf = (...parts: string[]) => ReadableStream.from(parts).getReader();

Deno.test("waitUntil(), within() and readUntil() fail at their own limit and name what they waited for", async () => {
  const limit = { limitMs: 5 };
  await assertRejects(() => waitUntil("the moon", () => false, limit), Error, "for the moon: 5 ms");
  await assertRejects(() => within("the sun", new Promise(() => {}), limit), Error, "for the sun: 5 ms");
  await assertRejects(
    () => readUntil("rain", textOf("a", "b"), () => false),
    Error,
    'the text ended with "ab"',
  );
  const silent = new ReadableStream<string>().getReader();
  await assertRejects(() => readUntil("snow", silent, () => false, limit), Error, "for snow, after");
});

Deno.test("waitUntil(), within() and readUntil() end as soon as the condition is true", async () => {
  let checks = 0;
  await waitUntil("the third check", () => ++checks === 3);
  assertEquals(checks, 3);
  assertEquals(await within("a value", Promise.resolve(7)), 7);
  await assertRejects(() => within("an error", Promise.reject(new RangeError("x"))), RangeError, "x");
  assertEquals(await readUntil("b", textOf("a", "b", "c"), (text) => text.includes("b")), "ab");
});
