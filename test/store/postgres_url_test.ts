/** Tests of store URLs: a text that looks like a URL is never used as a file name, and its password is never shown. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { isPostgresUrl, readPostgresUrl } from "../../lib/store/postgres_url.ts";
import { StoreError } from "../../lib/store/store_error.ts";

Deno.test("a misspelled store URL is not a file name, and its error does not show the password", () => {
  const wrong = [
    "POSTGRES://bob:SeCrEtPw9@127.0.0.1:1/db",
    " postgres://bob:SeCrEtPw9@127.0.0.1:1/db",
    "postgres:bob:SeCrEtPw9@h/db",
    "mysql://bob:SeCrEtPw9@h/db",
    "host=127.0.0.1 password=SeCrEtPw9 dbname=x",
    // A percent sign that encodes nothing.
    "postgres://bob:100%SeCrEtPw9@h/db",
    "postgres://b%zb:SeCrEtPw9@h/db",
    "postgres://bob:SeCrEtPw9@h/d%b",
    "postgres://bob:SeCrEtPw9@%2Fvar%zz/db",
  ];
  for (const text of wrong) {
    assert(isPostgresUrl(text), text);
    const error = assertThrows(() => readPostgresUrl(text), StoreError);
    assert(!error.message.includes("SeCrEtPw9"), error.message);
  }
  for (
    const file of ["hsgate.db", "/srv/a b/hsgate.db", "C:\\data\\hsgate.db", ":memory:", "passwords/x.db"]
  ) {
    assertEquals(isPostgresUrl(file), false, file);
  }
  assertEquals(readPostgresUrl("postgres://bob@127.0.0.1:5432/db").database, "db");
});
