/** Description of `hsgate sim` and `deno task sim`, which are the same program. @module */
import { command, type Flags } from "../terminal/command.ts";

/**
 * A Saturday at noon: every market's last session is over and cleared, so the last five trading days are complete
 * with their fees. The simulator has real bars up to the day before, and generates the later ones.
 */
export const DEFAULT_CLOCK = "2025-08-16T12:00:00+08:00";

const flags = {
  "http-port": { type: "string", value: "N", text: "HTTP port of the gateway; 0 for a free one (11111)" },
  "push-port": { type: "string", value: "N", text: "TCP push port of the gateway; 0 for a free one (11112)" },
  "platform-port": { type: "string", value: "N", text: "HTTP port of the platform; 0 for a free one (0)" },
  "trade-port": { type: "string", value: "N", text: "port of the trade sockets; 0 for a free one (0)" },
  "hq-port": { type: "string", value: "N", text: "port of the market data sockets; 0 for a free one (0)" },
  hostname: { type: "string", value: "HOST", text: "address to listen on (127.0.0.1)" },
  names: {
    type: "string",
    value: "LIST",
    text: "other host names that clients may use, such as a container's name",
  },
  seed: { type: "string", value: "N", text: "seed that determines prices and fills (1)" },
  days: { type: "string", value: "N", text: "trading days of history per market (250)" },
  "fills-per-day": { type: "string", value: "N", text: "fills per market on each day (6)" },
  clock: { type: "string", value: "TIME", text: `simulated time at the start (${DEFAULT_CLOCK})` },
  "push-interval-ms": {
    type: "string",
    value: "N",
    text: "milliseconds between two checks of the market (1000)",
  },
  "heartbeat-sec": { type: "string", value: "N", text: "seconds between heartbeats on the sockets (30)" },
  "allowed-ips": { type: "string", value: "LIST", text: "addresses that the platform serves (all)" },
  "bound-devices": {
    type: "string",
    value: "LIST",
    text: "device numbers that may log in to the platform (all)",
  },
  script: {
    type: "string",
    value: "FILE",
    text: "price moves, dividends, halts and outages at chosen times, in YAML or JSON",
  },
  answers: {
    type: "string",
    value: "FILE",
    text: 'answer with the types and forms in this report of "hsgate probe"',
  },
  shorts: { type: "boolean", text: "let the account sell stocks of Hong Kong and the United States short" },
  "script-schema": { type: "boolean", text: "print the JSON Schema of scripts, and exit" },
  info: {
    type: "string",
    value: "FILE",
    text: "write the JSON line with the addresses to this file, and print it only with --json",
  },
} as const satisfies Flags;

/** Names of the flags with a value. */
export const flagNames = Object.keys(flags).filter((name) => name !== "script-schema" && name !== "shorts");

/** Starts the simulator. */
export const sim = command({
  name: "sim",
  summary: "start a simulated broker (gateway and platform); nothing reaches a real one",
  usage: "",
  args: [0, Infinity],
  details: `The simulator has one account. In hsgate's own folder, "deno task sim" is the same
command. Ctrl-C stops the simulator.

When it is ready, the simulator prints one line of JSON with the addresses of gateway and
platform, and with what a client needs to log in. --info FILE writes that line to a file
that only you can read, and prints only the addresses; other commands use the file with
--config:

  {"gatewayUrl":"http://127.0.0.1:11111","pushAddress":"127.0.0.1:11112",
   "tradePassword":"…","tradePasswordKey":"…","seed":1,
   "clock":"${DEFAULT_CLOCK}","controlToken":"…",
   "authUrl":"http://127.0.0.1:40001","tradeServer":"127.0.0.1:40002",
   "hqServer":"127.0.0.1:40003","developerPrivateKey":"…PKCS#8 PEM…",
   "platformPublicKey":"…Base64 of the SPKI…","countryCode":"CHN","mobile":"…",
   "loginPassword":"…"}

The seed determines the keys and passwords, so they are not secret. A request to
/control/faults makes the simulator fail in a chosen way. It needs the header
"authorization: Bearer CONTROLTOKEN", and the token is new at each start. The simulator
rejects requests from web pages of other origins.

Recipes can send notices to the path /notices of the gateway's address, as "webhook" or
as "chat" of any style. The simulator prints their texts.

--script FILE is a list of entries. Times are local times of the entry's exchange:

  - { what: price, symbol: 00700.HK, at: 2025-08-18 10:00, to: 620, over: 30m }
  - { what: gap, symbol: AAPL, on: 2025-08-19, by: -8% }
  - { what: dividend, symbol: AAPL, on: 2025-08-20, cash: 0.26 }
  - { what: split, symbol: 00941.HK, on: 2025-08-20, ratio: "3:1" }
  - { what: halt, symbol: 09988.HK, at: 2025-08-18 11:00, for: 45m }
  - { what: halt, market: us, at: 2025-08-20 13:00 }
  - { what: resume, market: us, at: 2025-08-20 13:30 }
  - { what: outage, of: lists, at: 2025-08-21 16:30, for: 10m }

An outage needs "of": gateway, lists or pushes. Its times are Hong Kong time. The page
docs/simulator.md describes each entry.`,
  flags,
  without: ["gateway", "push", "plain-http", "auth-url", "config", "transport", "timeout"],
  passOn: true,
  exits: [],
  examples: [
    "sim --info sim.json",
    "sim --http-port 0 --push-port 0 --clock 2025-08-15T10:00:00+08:00 --push-interval-ms 250",
    "sim --script crash.yaml --clock 2025-08-18T09:00:00+08:00",
    "quote 00700.HK --config sim.json",
    "quote 00700.HK --config sim.json --transport direct",
  ],
});
