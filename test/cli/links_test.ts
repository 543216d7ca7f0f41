/**
 * Tests that a link in somebody else's folder never decides where a file is created: nothing outside the folder
 * changes.
 */
import { countWrite } from "../../lib/store/store.ts";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { backupStore } from "../../lib/runner/queries/store_care.ts";
import { openSqlite } from "../../lib/store/sqlite.ts";
import { emptyLocalFile } from "../../lib/calendars/local_file.ts";
import { TrustFile } from "../../lib/runner/trust/trust_file.ts";
import { takeLease } from "../../lib/transports/direct/lease.ts";
import { writeCalendars } from "../../tasks/commands/shared/local_calendars.ts";
import { cli } from "./runner_support.ts";

/** Somebody else's folder, and a place outside it with one file. */
function place() {
  const path = Deno.makeTempDirSync({ prefix: "hsgate-links-" });
  for (const name of ["found", "outside"]) Deno.mkdirSync(`${path}/${name}`);
  Deno.writeTextFileSync(`${path}/outside/precious`, "kept");
  return {
    found: `${path}/found`,
    outside: `${path}/outside`,
    [Symbol.dispose]: () => Deno.removeSync(path, { recursive: true }),
  };
}

/**
 * Functions that create files, by the name at which the test puts a link. Some reject the link, and others replace it.
 */
const made: Record<string, (found: string, name: string) => unknown> = {
  "hsgate.db": async (_, name) => await (await openSqlite(name))[Symbol.asyncDispose](),
  "hsgate.db-wal": async (found) => await storeWith(found),
  "hsgate.db-shm": async (found) => await storeWith(found),
  "hsgate.db-journal": async (found) => await storeWith(found),
  "hsgate.db.mark": async (found) => await storeWith(found),
  "hsgate.db.mark.part": async (found) => await storeWith(found),
  "copy.db": (found, name) => backup(found, name),
  "copy.db.part": (found) => backup(found, `${found}/copy.db`),
  "rehearsed.db": async (_, name) => (await openSqlite(":memory:")).copyTo(name),
  "trust.json": (found) => new TrustFile(`${found}/trust.json`).change(() => {}),
  "trust.json.part": (found) => new TrustFile(`${found}/trust.json`).change(() => {}),
  "trust.json.lock": (found) => new TrustFile(`${found}/trust.json`).change(() => {}),
  "trade-1.lock": (found) => lease(found),
  "trade-1.json": (found) => lease(found),
  "trade-1.json.part": (found) => lease(found),
  "hsgate-calendars.yaml": (_, name) => writeCalendars(...calendarsAt(name)),
  "hsgate-calendars.yaml.part": (found) => writeCalendars(...calendarsAt(`${found}/hsgate-calendars.yaml`)),
  "schema.json": (_, name) => cli(["schema", "--out", name]),
  "schema.json.part": (found) => cli(["schema", "--out", `${found}/schema.json`]),
  "developer_private.pem": (found) => cli(["keys", "new", "--out", found]),
  "developer_public.txt": (found) => cli(["keys", "new", "--out", found]),
  "hsgate.yaml": (found) => cli(["init", found]),
};

const calendarsAt = (path: string) =>
  [{ path, needsTrust: false }, emptyLocalFile(), { env: () => undefined, now: () => 0 }] as const;

async function storeWith(found: string): Promise<void> {
  await using store = await openSqlite(`${found}/hsgate.db`);
  await countWrite(store, { account: "a", runKey: "r", step: "s", at: 0 });
  await store.mark();
}

async function backup(found: string, name: string): Promise<void> {
  await using store = await openSqlite(`${found}/own.db`);
  await backupStore(store, name);
}

async function lease(found: string): Promise<void> {
  await using _ = await takeLease({ folder: found, name: "trade-1", program: "test", now: 0 });
}

for (const target of ["missing", "precious"]) {
  Deno.test({
    name: `nothing is written through a link to a file that ${
      target === "missing" ? "is missing" : "exists"
    }`,
    ignore: Deno.build.os === "windows",
    async fn() {
      for (const [name, make] of Object.entries(made)) {
        using at = place();
        const link = `${at.found}/${name}`;
        Deno.symlinkSync(`${at.outside}/${target}`, link);
        // Both results are correct: an error, and a file in the folder. But the outside folder must not change.
        const result = await Promise.try(() => make(at.found, link)).catch((error: unknown) => error);
        const names = [...Deno.readDirSync(at.outside)].map((entry) => entry.name);
        assertEquals(names, ["precious"], `${name}: ${Deno.inspect(result)}`);
        assertEquals(Deno.readTextFileSync(`${at.outside}/precious`), "kept", name);
      }
    },
  });
}

Deno.test({
  name: "a new store is not created through a link, and the error says what to do",
  ignore: Deno.build.os === "windows",
  async fn() {
    using at = place();
    const link = `${at.found}/hsgate.db`;
    Deno.symlinkSync(`${at.outside}/later.db`, link);
    await assertRejects(
      async () => await openSqlite(link),
      Error,
      "it is a symbolic link to a file that is missing or empty",
    );
    Deno.writeTextFileSync(`${at.outside}/later.db`, "");
    await assertRejects(
      async () => await openSqlite(link),
      Error,
      "it is a symbolic link to a file that is missing or empty",
    );
    // An existing store behind a link is used, because its user may have created the link.
    Deno.removeSync(`${at.outside}/later.db`);
    await (await openSqlite(`${at.outside}/later.db`))[Symbol.asyncDispose]();
    await (await openSqlite(link))[Symbol.asyncDispose]();
    assert(Deno.lstatSync(link).isSymlink);
    await assertRejects(async () => (await openSqlite(":memory:")).copyTo(link), Deno.errors.AlreadyExists);
  },
});
