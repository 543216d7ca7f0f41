import { assert, assertEquals, assertThrows } from "@std/assert";
import { csvRecord } from "../../lib/csv_text.ts";
import { markdownText, shownJson } from "../../lib/shown_text.ts";
import { canBeRedacted, Redactor, SecretInFileError } from "../../lib/redact.ts";
import { temporaryFolder } from "./support.ts";

function knowing(...secrets: string[]): Redactor {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

Deno.test("Redactor.text() removes a secret in every encoding", () => {
  const redactor = knowing('p&ss "w/rd+1');
  const text = (given: string) => redactor.text(given);
  // Expected values written by hand: plain, in a URL, in a form, in JSON, in hex, in Base64.
  for (
    const form of [
      'p&ss "w/rd+1',
      "p%26ss%20%22w%2Frd%2B1",
      "p%26ss%20%22w%2frd%2b1",
      "p%26ss+%22w%2Frd%2B1",
      'p&ss \\"w/rd+1',
      "702673732022772f72642b31",
      "702673732022772F72642B31",
      "cCZzcyAidy9yZCsx",
    ]
  ) assertEquals(text(`before ${form} after`), "before [secret] after");
  // Base64 of "user:p&ss "w/rd+1" as in a header, which shifts the alignment.
  const header = new TextEncoder().encode('user:p&ss "w/rd+1').toBase64();
  assert(text(header).includes("[secret]"), text(header));
  assertEquals(text("nothing to see"), "nothing to see");
});

Deno.test("Redactor removes digits only if they are a complete number", () => {
  const redactor = knowing("135790");
  assertEquals(
    redactor.data({
      password: "135790",
      text: "pw=135790;",
      number: 135790,
      orderId: "20251357901",
      amount: "135790.00",
      price: "7.135790",
      quantity: "1357",
    }),
    {
      password: "[secret]",
      text: "pw=[secret];",
      number: "[secret]",
      orderId: "20251357901",
      amount: "135790.00",
      price: "7.135790",
      quantity: "1357",
    },
  );
});

Deno.test("Redactor warns once of a secret that is too short, by its name", () => {
  const told: string[] = [];
  const redactor = new Redactor({ onTooShort: (name) => void told.push(name) });
  for (
    const [value, name] of [["abc", "pin"], ["12345", "code"], ["abc", "pin"], ["abcd", "word"]] as const
  ) {
    redactor.add(value, name);
  }
  redactor.add("xyz");
  assertEquals(told, ["pin", "code"]);
});

Deno.test("Redactor.error() removes secrets from message, stack and causes, also for system errors", () => {
  const redactor = knowing("hunter22");
  const inner = new DOMException("hunter22 is late", "TimeoutError");
  const error = new Error("not hunter22", { cause: inner });
  const { stack = "" } = error;
  redactor.error(error);
  assertEquals([error.message, inner.message], ["not [secret]", "[secret] is late"]);
  assertEquals(error.stack, stack.replaceAll("hunter22", "[secret]"));
  redactor.error("hunter22"); // not an Error: nothing to change, and nothing is thrown
});

Deno.test("Redactor does not redact values that are too short to be secrets", () => {
  const redactor = new Redactor();
  const short = ["", "1", "hk", "abc", "2025", "12345"];
  assertEquals(short.map((each) => redactor.add(each)), short.map(() => false));
  const data = { market: "hk", side: "1", day: "2025-08-15", count: 1 };
  assertEquals(redactor.data(data), data);
  assertEquals(["abcd", "123456"].map(canBeRedacted), [true, true]);
  // A secret of four letters is removed only as a whole word.
  assertEquals(knowing("fill").text("fill, filled, unfilled"), "[secret], filled, unfilled");
});

Deno.test("Redactor.text() removes each line of a key, and a secret inside another", () => {
  const key =
    "-----BEGIN PRIVATE KEY-----\nMIICdgIBADANBgkqhkiG9w0B\nAQEFAASCAmAwggJcAgEAAoGB\n-----END PRIVATE KEY-----\n";
  const redactor = knowing(key, "sesame", "sesame-open");
  assertEquals(redactor.text("line MIICdgIBADANBgkqhkiG9w0B"), "line [secret]");
  assertEquals(redactor.text(JSON.stringify({ key })), '{"key":"[secret]"}');
  assertEquals(redactor.text("sesame-open sesame"), "[secret] [secret]");
});

Deno.test("Redactor.checkFile() rejects a file with a secret, also across chunks, and accepts digits", () => {
  using folder = temporaryFolder();
  const redactor = knowing("hunter2-hunter2", "135790");
  const path = `${folder.path}/rows.csv`;
  const filler = "a,b,c\n".repeat(200_000);
  const split = 1024 * 1024 - 7; // the secret crosses the end of the first chunk
  Deno.writeTextFileSync(path, `${filler.slice(0, split)}hunter2-hunter2${filler}`);
  const error = assertThrows(() => redactor.checkFile(path), SecretInFileError);
  assert(!error.message.includes("hunter2"), error.message);
  Deno.writeTextFileSync(path, `symbol,quantity\n00700.HK,135790\n`);
  redactor.checkFile(path);
  redactor.checkFile(`${folder.path}/not-there.csv`);
});

Deno.test("Redactor.isInFile() finds a secret as our CSV, JSON and Markdown files write it, among other texts", () => {
  using folder = temporaryFolder();
  const path = `${folder.path}/file`;
  for (
    const secret of [
      'pa"ss,word',
      "pass;=word",
      "pass\\word|x[y",
      "pa\u200bssword",
      "pass\\u001bword",
      "<password>",
    ]
  ) {
    const redactor = knowing(secret);
    for (const text of [secret, `ACME ${secret} Ltd`, `=${secret}`, `${secret};x`]) {
      const written = [
        csvRecord(["a", text, "b"]),
        csvRecord(["a", text, "b"], { exact: true }),
        `${shownJson(JSON.stringify({ name: text }))}\n`,
        `| ${markdownText(text)} |\n`,
      ];
      for (const each of written) {
        Deno.writeTextFileSync(path, each);
        assert(redactor.isInFile(path), each);
      }
    }
  }
});
