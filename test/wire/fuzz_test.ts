import { assert } from "@std/assert";
import { fuzz } from "./fuzzing.ts";

Deno.test("damaged frames cause only typed errors, and no unverified body is returned", async () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  const { decoded, verified, read, refused, slowestMs } = await fuzz({ seed, frames: 6000 });
  // If the run had not reached every part of the readers, the test would prove nothing.
  const where = `seed ${seed}: ${JSON.stringify({ decoded, verified, read, refused })}`;
  assert(decoded > 2000 && verified > 100 && read > 500, where);
  for (
    const code of [
      "frame-flag",
      "frame-too-large",
      "signature-missing",
      "signature-bad",
      "cipher-segment",
      "cipher-block",
      "cipher-padding",
      "message-damaged",
      "message-unknown",
    ]
  ) assert((refused[code] ?? 0) > 0, `no ${code}, ${where}`);
  assert(slowestMs < 1000, `${slowestMs} ms for one frame, seed ${seed}`);
});
