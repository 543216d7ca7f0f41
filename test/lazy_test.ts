import { assertEquals, assertRejects } from "@std/assert";
import { lazily, loadAll } from "../lib/lazy.ts";

const pure = { permissions: "none" } as const;

Deno.test("lazily() loads once, at the first call", pure, async () => {
  let loads = 0;
  const load = lazily(() => Promise.resolve(++loads));
  assertEquals(loads, 0);
  assertEquals([await load(), await load(), loads], [1, 1, 1]);
});

Deno.test("lazily() tries again after a failure", pure, async () => {
  let loads = 0;
  const load = lazily(() =>
    ++loads === 1 ? Promise.reject(new Error("no such file")) : Promise.resolve(loads)
  );
  await assertRejects(load, Error, "no such file");
  assertEquals(await load(), 2);
});

Deno.test(
  "loadAll() also loads what is added during loading, and skips what fails to load",
  pure,
  async () => {
    const loaded: string[] = [];
    lazily(() => Promise.reject(new Error("no such file")));
    lazily(() => {
      loaded.push("outer");
      lazily(() => Promise.resolve(loaded.push("inner")));
      return Promise.resolve();
    });
    await loadAll();
    await loadAll();
    assertEquals(loaded, ["outer", "inner"]);
  },
);
