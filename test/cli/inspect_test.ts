import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { joined, vectors, wireKeys } from "../wire/vectors.ts";
import { cli, spawned } from "./support.ts";

const files = {
  "developer.key": wireKeys.developerKeyPkcs8Base64,
  "platform.pub":
    `-----BEGIN PUBLIC KEY-----\n${wireKeys.platformPublicKeySpkiBase64}\n-----END PUBLIC KEY-----\n`,
  "odd.key": "secret stuff!",
};
const keyFlags = [
  "--aes-key",
  wireKeys.aesKeyBase64,
  "--private-key",
  "developer.key",
  "--platform-key",
  "platform.pub",
];
const linesOf = (out: string) => out.trimEnd().split("\n").map((line) => JSON.parse(line));

async function withCapture<T>(bytes: Uint8Array, work: (path: string) => Promise<T>): Promise<T> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, bytes);
    return await work(path);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("inspect prints one JSON line per frame and ends with 7 if one cannot be read", async () => {
  const { code, out, err } = await withCapture(
    joined,
    (path) => cli(["inspect", path, ...keyFlags], { files }),
  );
  assertEquals([code, err], [7, ""]);
  const lines = linesOf(out);
  assertEquals(lines.length, 83);
  // Two frames have no good signature: the request, which only the platform can read, and the heartbeat, which is not
  // signed.
  assertEquals(lines.filter(({ signature }) => signature === "ok").length, 81);
  assertEquals(lines.filter(({ error }) => error !== undefined).map(({ error, offset }) => [error, offset]), [
    ["cipher-segment", 11_013],
  ]);
});

Deno.test("inspect ends with 0 if all frames are valid, and with 7 for a wrong signature", async () => {
  const pushed = vectors.find(({ kind, encryption }) => kind === "notify" && encryption === "none")!.frame;
  const hex = new TextEncoder().encode(Buffer.from(pushed).toString("hex"));
  const good = await withCapture(hex, (path) => cli(["inspect", path, ...keyFlags], { files }));
  assertEquals([good.code, linesOf(good.out)[0].signature], [0, "ok"]);
  const damaged = pushed.slice();
  damaged[30]! ^= 1;
  const bad = await withCapture(damaged, (path) => cli(["inspect", path, ...keyFlags], { files }));
  assertEquals([bad.code, linesOf(bad.out)[0].signature], [7, "bad"]);
});

Deno.test("inspect reads stdin", async () => {
  const stdin = Buffer.from(vectors[0]!.frame).toString("base64");
  const { code, out } = await spawned(["inspect", "--aes-key", wireKeys.aesKeyBase64], { stdin });
  assertEquals(code, 0);
  const [line] = linesOf(out);
  assertEquals([line.kind, line.message, line.signature], [
    "request",
    "TradeQueryBeforeAndAfterSupport",
    "unchecked",
  ]);
});

Deno.test("inspect names the key, file or terminal that is wrong, and prints no key", async () => {
  const cases: [words: string[], reason: string][] = [
    [["--aes-key", "AQIDBA=="], "Cannot read --aes-key: it is not Base64 of 16 bytes"],
    [["--private-key", "odd.key"], "Cannot read private key: it is neither PEM nor Base64"],
    [
      ["--private-key", "platform.pub"],
      "Cannot read private key: it is a public key; the private one is needed",
    ],
    [["--platform-key", "none.pem"], 'Cannot read "none.pem": no such file'],
    [["no-such-capture.bin"], 'Cannot read "no-such-capture.bin": no such file'],
  ];
  for (const [words, reason] of cases) {
    const { code, out, err } = await cli(["inspect", ...words], { files });
    assertEquals([code, out], [2, ""]);
    assert(err.includes(reason), err);
    assert(!err.includes("AQIDBA") && !err.includes("secret stuff"), err);
  }
  const { code, err } = await cli(["inspect"], { answer: "" });
  assertEquals(code, 2);
  assert(err.includes("Cannot read stdin: it is a terminal"), err);
});
