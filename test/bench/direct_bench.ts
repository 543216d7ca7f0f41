/**
 * Compares the direct transport with a bare client that does only the cryptography: 1,000 concurrent calls over one
 * socket, and the start of a one-call script.
 *
 * Both sign, encrypt, verify and decrypt. The bare client encodes its messages in advance. It has no time limits, and
 * counts the answers without matching them to requests. Each client has its own simulator, because a login of one
 * client would invalidate the token of the other client.
 *
 * @module
 */
import { cpuUsage } from "node:process";
import { connect } from "../../mod.ts";
import { loadEnvelopes } from "../../lib/wire/messages.ts";
import { decryptSegments, encryptSegments, readSessionKey } from "../../lib/wire/cipher.ts";
import { FrameDecoder } from "../../lib/wire/framing.ts";
import { readPrivateKey, readPublicKey } from "../../lib/wire/keys.ts";
import { Sealing } from "../../lib/wire/sealing.ts";
import type { PlatformInfo } from "../../lib/simulator/platform/mod.ts";
import type { DirectOptions } from "../../lib/transports/direct/mod.ts";
import { inTurns, median, report, rounded, startSimulator } from "./harness.ts";

const CALLS = 1000;
const flags = ["--seed", "1", "--days", "5", "--platform-port", "0", "--trade-port", "0", "--hq-port", "0"];
await using forOurs = await startSimulator(flags);
await using forFloor = await startSimulator(flags);
// The simulator prints the members of platform and gateway; `tasks/commands/sim.ts` documents them.
const platformOf = (info: unknown) => info as PlatformInfo;

function optionsOf(info: PlatformInfo): DirectOptions {
  return {
    url: info.authUrl,
    // The simulator's accounts have one of these countries.
    country: info.countryCode as DirectOptions["country"],
    mobile: info.mobile,
    password: info.loginPassword,
    deviceId: "aa-bb-cc-00-11-22",
    privateKey: info.developerPrivateKey,
    platformKey: info.platformPublicKey,
    leaseFolder: false,
  };
}

const security = { type: "hk-stock", symbol: "00700.HK" } as const;
await using client = await connect({ direct: optionsOf(platformOf(forOurs.info)) });
const latencies: number[] = [];

async function ours(): Promise<void> {
  await Promise.all(Array.from({ length: CALLS }, async () => {
    const began = performance.now();
    await client.quotes.orderBook({ security });
    latencies.push(performance.now() - began);
  }));
}

await using bare = await openBare(platformOf(forFloor.info));
const times = await inTurns({ floor: () => bare.run(CALLS), ours }, { warmup: 2, rounds: 5 });
const cpu = await cpuInTurns({ floor: () => bare.run(CALLS), ours }, 5);
const lately = latencies.slice(-5 * CALLS).sort((a, b) => a - b);
const ratio = times.ours / times.floor;
report({
  name: "direct/1000-in-flight",
  unit: "ms, median",
  floor: rounded(times.floor),
  ours: rounded(times.ours),
  ratio: rounded(ratio),
  target: "at most 1.3",
  ok: ratio <= 1.3,
  callsPerSecond: Math.round(CALLS / times.ours * 1000),
  p50: rounded(median(lately)),
  p99: rounded(lately[Math.floor(lately.length * 0.99)] ?? NaN),
});

report({
  name: "direct/1000-in-flight-cpu",
  unit: "ms of processor time, median",
  floor: rounded(cpu.floor),
  ours: rounded(cpu.ours),
  ratio: rounded(cpu.ours / cpu.floor),
  target: "at most 1.3",
  ok: cpu.ours / cpu.floor <= 1.3,
});

const one = await inTurns(
  { floor: () => bare.run(1), ours: () => client.quotes.orderBook({ security }) },
  { warmup: 30, rounds: 200 },
);
report({
  name: "direct/one-call",
  unit: "µs, median",
  floor: rounded(one.floor * 1000),
  ours: rounded(one.ours * 1000),
  ratio: rounded(one.ours / one.floor),
  target: "at most 1.5",
  ok: one.ours / one.floor <= 1.5,
});

/**
 * Folder of the one-call scripts, whose start is measured. The script of the floor uses the client of the simulator's
 * tests. That client has only `node:crypto` and hand-made bytes, and shares no code with the toolkit.
 */
const folder = await Deno.makeTempDir({ prefix: "hsgate-bench-" });
const root = new URL("../../", import.meta.url);
const config = new URL("deno.json", root).pathname;
const scripts = {
  floor: `import { logIn, message, post, SocketClient } from ${
    JSON.stringify(new URL("test/simulator/socket_client.ts", root).href)
  };
const info = ${JSON.stringify(forFloor.info)};
const token = await logIn(info);
const { data } = await post(info, "/hs/config/queryServer", { token });
const client = await SocketClient.open(data.hqServer, info, token);
const answer = await client.call(20005, "OrderBookRequest", [[1, message([[1, 10000], [2, "00700.HK"]])]]);
if (answer.code !== "0000") throw new Error(answer.text);
client.conn.close();
`,
  ours: `import { connect } from ${JSON.stringify(new URL("mod.ts", root).href)};
await using client = await connect({ direct: ${JSON.stringify(optionsOf(platformOf(forOurs.info)))} });
await client.quotes.orderBook({ security: ${JSON.stringify(security)} });
`,
};
const starts = await inTurns({ floor: starter("floor"), ours: starter("ours") }, { warmup: 2, rounds: 15 });
report({
  name: "direct/start-one-call",
  unit: "ms, median",
  floor: rounded(starts.floor),
  ours: rounded(starts.ours),
  ratio: rounded(starts.ours / starts.floor),
  // Most of the difference is the library that parses the message definitions.
  target: "at most 2.5",
  ok: starts.ours / starts.floor <= 2.5,
});
await Deno.remove(folder, { recursive: true });

function starter(name: keyof typeof scripts): () => Promise<void> {
  const file = `${folder}/${name}.ts`;
  Deno.writeTextFileSync(file, scripts[name]);
  return async () => {
    const args = ["run", "--no-check", "-A", "--config", config, file];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, stdout: "null" }).output();
    if (code !== 0) throw new Error(`Cannot measure "${name}": ${new TextDecoder().decode(stderr)}`);
  };
}

/**
 * Runs two functions in turn, and returns the median processor time of each in milliseconds. Measures only this
 * process, because the simulators need as much time as the clients.
 */
async function cpuInTurns(
  functions: { floor: () => Promise<unknown>; ours: () => Promise<unknown> },
  rounds: number,
): Promise<{ floor: number; ours: number }> {
  const times = { floor: [] as number[], ours: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    for (const name of ["floor", "ours"] as const) {
      const start = cpuUsage();
      await functions[name]();
      const { user, system } = cpuUsage(start);
      times[name].push((user + system) / 1000);
    }
  }
  return { floor: median(times.floor), ours: median(times.ours) };
}

/** A client of the market socket that gets its requests as bytes. */
async function openBare(info: PlatformInfo) {
  const envelopes = await loadEnvelopes();
  const privateKey = readPrivateKey(info.developerPrivateKey);
  const publicKey = readPublicKey(info.platformPublicKey);
  const encrypt = (text: string) => encryptSegments(new TextEncoder().encode(text), publicKey).toBase64();
  const post = async (path: string, members: Record<string, string>) => {
    const body = new URLSearchParams(members);
    const response = await fetch(`${info.authUrl}${path}`, { method: "POST", body });
    return (await response.json()).data;
  };
  const { countryCode, mobile } = info;
  const deviceNo = "aa-bb-cc-00-11-22";
  const login = await post("/hs/v2/login", {
    countryCode,
    mobile,
    deviceNo,
    password: encrypt(info.loginPassword),
  });
  const token = new TextDecoder().decode(decryptSegments(Uint8Array.fromBase64(login.token), privateKey));
  const [hostname = "", port] = String((await post("/hs/config/queryServer", { token })).hqServer).split(":");
  const conn = await Deno.connect({ hostname, port: Number(port) });
  conn.setNoDelay(true);
  const sealing = new Sealing({ privateKey, publicKey });
  const decoder = new FrameDecoder();
  const requestOf = (type: number, name: string, plain: Record<string, unknown>, id: string) =>
    envelopes.encodeRequest({
      type,
      id,
      time: 1_755_000_000_000,
      token,
      payload: { name, bytes: envelopes.messages.encode(name, plain) },
    });

  async function read(count: number, take: (body: Uint8Array) => void): Promise<void> {
    for (let left = count; left > 0;) {
      const length = await conn.read(decoder.room());
      if (length === null) throw new Error("Cannot measure: the platform closed the connection");
      decoder.filled(length);
      for (let frame; (frame = decoder.next()) !== undefined;) {
        if (frame.type !== "response") continue;
        take(sealing.open(frame).body);
        left--;
      }
    }
  }

  async function write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await conn.write(bytes.subarray(at));
  }

  await write(
    sealing.seal({ type: "request", serial: 0, body: requestOf(0, "InitConnectReq", { deviceNo }, "init") }),
  );
  await read(1, (body) => {
    const { payload } = envelopes.decodeResponse(body);
    const { encryptedKey } = envelopes.messages.decode("InitConnectResp", payload!.bytes);
    sealing.useSessionKey(readSessionKey(String(encryptedKey)));
  });
  const bodies = Array.from({ length: CALLS }, () => {
    const plain = { security: { dataType: 10000, code: "00700.HK" } };
    return requestOf(20005, "OrderBookRequest", plain, crypto.randomUUID());
  });
  let serial = 0;
  return {
    async run(count: number): Promise<void> {
      const answered = read(count, () => {});
      for (let at = 0; at < count; at += 8) {
        const frames = bodies.slice(at, Math.min(at + 8, count)).map((body) =>
          sealing.seal({ type: "request", serial: ++serial, body })
        );
        const bytes = new Uint8Array(frames.reduce((sum, { length }) => sum + length, 0));
        let end = 0;
        for (const frame of frames) {
          bytes.set(frame, end);
          end += frame.length;
        }
        await write(bytes);
      }
      await answered;
    },
    [Symbol.asyncDispose]() {
      conn.close();
      sealing[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}
