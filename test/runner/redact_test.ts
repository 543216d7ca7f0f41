import { assert, assertEquals, assertRejects } from "@std/assert";
import { csvRecord } from "../../lib/csv_text.ts";
import { markdownText, shownJson } from "../../lib/shown_text.ts";
import { RejectedError } from "../../lib/errors.ts";
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
  // A header encodes "user:" and the secret together, so the secret begins at another place of a Base64 group.
  const header = new TextEncoder().encode('user:p&ss "w/rd+1').toBase64();
  assert(text(header).includes("[secret]"), text(header));
  assertEquals(text("nothing to see"), "nothing to see");
});

const unit = (char: string) => char.charCodeAt(0).toString(16).padStart(4, "0");
const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", '"': "&quot;", "'": "&apos;" };

/** How servers write a text that they repeat. */
const repeats: Record<string, (text: string) => string> = {
  "JSON escapes": (text) => text.replace(/[^\w]/g, (char) => `\\u${unit(char)}`),
  "JSON escapes, upper case": (text) => text.replace(/[^\w]/g, (char) => `\\u${unit(char).toUpperCase()}`),
  "every character escaped": (text) => text.replace(/[^]/g, (char) => `\\u${unit(char)}`),
  "JSON in JSON": (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3),
  "JSON with slashes": (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  "escapes of JavaScript": (text) =>
    text.replace(/[^\w]/g, (char) => `\\u${unit(char)}`).replaceAll("\\u00", "\\x"),
  "code points of JavaScript": (text) =>
    text.replace(/[^\w]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`),
  "code points of Python": (text) =>
    text.replace(/[^]/gu, (char) => `\\U${char.codePointAt(0)!.toString(16).padStart(8, "0")}`),
  "octal escapes": (text) =>
    Array.from(new TextEncoder().encode(text), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  "octal escapes with a brace": (text) =>
    text.replace(/[^]/gu, (char) => `\\o{${char.codePointAt(0)!.toString(8)}}`),
  "bytes of Python": (text) =>
    Array.from(new TextEncoder().encode(text), (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""),
  "escape() of JavaScript": (text) => text.replace(/[^]/g, (char) => `%u${unit(char)}`),
  "every byte of a URL": (text) =>
    Array.from(new TextEncoder().encode(text), (byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  "Latin-1 of a URL": (text) =>
    text.replace(/[^\w]/g, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`),
  "names of HTML": (text) => text.replace(/[&<"']/g, (char) => ENTITIES[char]!),
  "numbers of HTML": (text) => text.replace(/[^\w]/g, (char) => `&#${char.charCodeAt(0)};`),
  "hex numbers of HTML": (text) => text.replace(/[^\w]/g, (char) => `&#x${unit(char)};`),
  "HTML twice": (text) => text.replace(/[&<"']/g, (char) => ENTITIES[char]!).replaceAll("&", "&amp;"),
  "URL": encodeURIComponent,
  "URL twice": (text) => encodeURIComponent(encodeURIComponent(text)),
  "URL in JSON": (text) => encodeURIComponent(text).replaceAll("%", "\\u0025"),
  "URL six times": (text) =>
    Array(6).fill(encodeURIComponent).reduce(
      (each: string, encode: typeof encodeURIComponent) => encode(each),
      text,
    ),
  "code points with leading zeros": (text) =>
    text.replace(/[^]/gu, (char) => `\\u{0000000${char.codePointAt(0)!.toString(16)}}`),
  "numbers of HTML with leading zeros": (text) =>
    text.replace(/[^\w]/g, (char) => `&#000000${char.charCodeAt(0)};`),
  "hex numbers of HTML with leading zeros": (text) =>
    text.replace(/[^]/g, (char) => `&#X0000000${unit(char)};`),
  "escapes of Java with many letters u": (text) => text.replace(/[^]/g, (char) => `\\uuu${unit(char)}`),
  "code points of Perl": (text) =>
    text.replace(/[^]/gu, (char) => `\\N{U+${char.codePointAt(0)!.toString(16)}}`),
  "escapes of Excel": (text) => text.replace(/[^]/g, (char) => `_x${unit(char)}_`),
  "wide characters": (text) =>
    text.replace(/[!-~]/g, (char) => String.fromCharCode(char.charCodeAt(0) + 0xfee0)),
  "invisible characters": (text) => text.split("").join("\u200b"),
  "escaped invisible characters": (text) =>
    JSON.stringify(text.split("").join("\u200b")).slice(1, -1).replaceAll("\u200b", "\\u200b"),
  "control characters": (text) => text.split("").join("\0\u202e"),
  "accents as characters of their own": (text) => text.normalize("NFD"),
};

Deno.test("Redactor removes a secret that a server repeats with escapes, or with invisible characters inside", () => {
  // The second secret is the Base64 of an encrypted password, and the third secret is a number.
  for (const secret of ['Tr<4de&Pa"w+/é\\n', "FSWBnHkrmTcvs+dhT9KhCQ==", "135790"]) {
    for (const [how, repeat] of Object.entries(repeats)) {
      for (const around of ['"', "\\u0022", "&quot;", "%22", "\\n", " "]) {
        const text = `password${around}${repeat(secret)}${around}after`;
        const removed = knowing(secret).text(text);
        assertEquals([how, removed], [how, `password${around}[secret]${around}after`], secret);
      }
    }
  }
});

Deno.test("Redactor removes a secret from an error whose invisible characters have become spaces", () => {
  for (const secret of ['Tr<4de&Pa"w+/é', "a b+c d", "1357"]) {
    const redactor = new Redactor({ anyLength: true });
    redactor.add(secret);
    const said = `no: "${secret.split("").join("\u200b")}" or "${secret[0]}\u202e\u202e${secret.slice(1)}"`;
    const error = new RejectedError(said, said);
    redactor.error(error);
    assertEquals([error.message, error.text], Array(2).fill('no: "[secret]" or "[secret]"'));
  }
});

Deno.test("Redactor removes the beginning of a secret where a text was cut", () => {
  const redactor = knowing("hunter2-p&ss", "4711135790", "k9Xq");
  const cases: [given: string, shown: string][] = [
    ["said: hunter2-p…", "said: [secret]…"],
    ["said: hunter2-p&s… (3 more)", "said: [secret]… (3 more)"],
    ["said: hun …", "said: [secret]…"],
    ["100%hunter2…", "100%[secret]…"],
    ["said: hunter2-p%2…", "said: [secret]…"],
    ["said: \\u0068\\u0075nter2-p\\u00…", "said: [secret]…"],
    ["said: h\u200bunter2-p\u200b…", "said: [secret]…"],
    ["aHVudGVyMi1w…", "[secret]…"],
    ["pin 471113579…, k9X…", "pin [secret]…, [secret]…"],
    // These texts stay: they are too short to show anything, are part of another number or word, or are not cut.
    ["hu…, 9471113…, xk9X…, hunter, … hunt", "hu…, 9471113…, xk9X…, hunter, … hunt"],
  ];
  for (const [given, shown] of cases) assertEquals(redactor.text(given), shown);
  assertEquals(redactor.jsonText('{"a":"hunter2-…"}'), '{"a":"[secret]…"}');
  // In an error, invisible characters have become spaces.
  const ofErrors = new Redactor({ anyLength: true });
  ofErrors.add("pass word");
  assertEquals(ofErrors.text("said: p a ss wo…"), "said: [secret]…");
  // The search also ends soon for these hostile texts.
  for (const hostile of ["…", "hun…", "aaa ", "%aaa", "\u200b…"]) redactor.text(hostile.repeat(200_000));
});

Deno.test("Redactor.jsonText() removes secrets from texts of any length", () => {
  const redactor = knowing("hush-hush");
  const long = "9\\n".repeat(6_000_000);
  const json = redactor.jsonText(`{"a":["${long}","\\\\"], "hush-hush" : "\\"hush-hush", "b":-1.50}`);
  assertEquals(json.length, long.length + `{"a":["","\\\\"], "[secret]" : "\\"[secret]", "b":-1.50}`.length);
  assert(json.endsWith(`","\\\\"], "[secret]" : "\\"[secret]", "b":-1.50}`), json.slice(-80));
});

Deno.test("Redactor.jsonText() keeps only names that hsgate has chosen", () => {
  const redactor = knowing("settings");
  const json = '{"settings":"settings","other settings":1}';
  assertEquals(redactor.jsonText(json), '{"settings":"[secret]","other [secret]":1}');
  const none = redactor.jsonText(json, undefined, () => false);
  assertEquals(none, '{"[secret]":"[secret]","other [secret]":1}');
});

Deno.test("Redactor keeps every other character of a text with escapes, and finds no secret across values", () => {
  const redactor = knowing("Tr<4de", "135790");
  for (
    const text of [
      "AT&amp;T \\u003c 5 %20 100% \\ \u200b \ud83d\ude00 &#60; &unknown; %zz \\u12 Tr&lt;4d",
      "135 790",
      "135\n790",
      "2135790 1.35790 135790.5",
    ]
  ) assertEquals(redactor.text(text), text);
});

Deno.test("Redactor needs time proportional to the text, also for a private key and hostile escapes", () => {
  const key = "-----BEGIN-----\n" +
    Array.from({ length: 27 }, (_, line) => "Ab+/9zQw".repeat(7) + line).join("\n");
  const redactor = knowing(key, 'Tr<4de&Pa"w+/é', "a  b c");
  for (const part of ["\\", "%25", "&amp;", "\\u005c", "T\u200b", "a ", "Ab+/", " "]) {
    const began = performance.now();
    redactor.text(part.repeat(200_000));
    const took = performance.now() - began;
    assert(took < 60_000, `${part}: ${Math.round(took)} ms`);
  }
});

Deno.test("Redactor removes digits only if they are a complete number", () => {
  const redactor = knowing("135790");
  assertEquals(
    redactor.data({
      password: "135790",
      text: "pw=135790;",
      number: 135790,
      negative: [-135790, -135790n],
      orderId: "20251357901",
      amount: "135790.00",
      price: "7.135790",
      quantity: "1357",
    }),
    {
      password: "[secret]",
      text: "pw=[secret];",
      number: "[secret]",
      negative: ["-[secret]", "-[secret]"],
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

Deno.test("Redactor removes the longest of several secrets that begin alike, also with invisible characters inside", () => {
  const secrets = [
    "pw12",
    "pw12-long",
    "pw12-longer",
    "135790",
    "135790abc",
    "1357901234",
    "pw 12 x",
    "pw12",
  ];
  for (const anyLength of [false, true]) {
    for (const given of [secrets, secrets.toReversed()]) {
      const redactor = new Redactor({ anyLength });
      for (const secret of given) redactor.add(secret);
      for (const secret of secrets) {
        for (
          const text of [
            secret,
            secret.split("").join("\u200b"),
            `\u200b${secret[0]}\u202e${secret.slice(1)}`,
          ]
        ) {
          assertEquals(
            redactor.text(`(${text})`).replaceAll("\u200b", ""),
            "([secret])",
            JSON.stringify(text),
          );
        }
      }
      // Parts of a secret are not hidden, and neither is a longer word or number that contains a secret.
      for (const text of ["pw1", "xpw12", "pw12x", "13579", "2135790", "135790.5"]) {
        assertEquals(redactor.text(text), text);
      }
    }
  }
});

Deno.test("Redactor.checkFile() rejects a file with a secret, also across chunks, and accepts digits", async () => {
  using folder = temporaryFolder();
  const redactor = knowing("hunter2-hunter2", "135790");
  const path = `${folder.path}/rows.csv`;
  const filler = "a,b,c\n".repeat(200_000);
  const split = 1024 * 1024 - 7; // the secret crosses the end of the first chunk
  Deno.writeTextFileSync(path, `${filler.slice(0, split)}hunter2-hunter2${filler}`);
  const error = await assertRejects(() => redactor.checkFile(path), SecretInFileError);
  assert(!error.message.includes("hunter2"), error.message);
  Deno.writeTextFileSync(path, `symbol,quantity\n00700.HK,135790\n`);
  await redactor.checkFile(path);
  await redactor.checkFile(`${folder.path}/not-there.csv`);
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
