import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { directOptionsOf } from "../../lib/client/connect_options.ts";
import { inspectSettingsFile, loadSettings, type SettingsSources } from "../../lib/client/load_settings.ts";
import { InvalidParamsError } from "../../lib/errors.ts";

const KEY = "MDEyMzQ1Njc4OWFiY2RlZg==";
const OTHER_KEY = "ZmVkY2JhOTg3NjU0MzIxMA==";

interface World {
  flags?: SettingsSources["flags"];
  env?: Record<string, string>;
  files?: Record<string, string | { text: string; mode: number }>;
  path?: string;
  required?: boolean;
}

function load({ flags = {}, env = {}, files = {}, path = "hsgate.yaml", required = false }: World = {}) {
  return loadSettings({
    flags,
    env: (name) => env[name],
    readFile: (name) => {
      const file = files[name];
      return Promise.resolve(typeof file === "string" ? { text: file, mode: 0o600 } : file);
    },
    path,
    required,
  });
}

/** Defaults of the limits of orders. */
const limits = {
  liveTrading: "refuse",
  maxOrdersPerMinute: "60",
  allowShort: "refuse",
  priceCollar: "10%",
  quoteMaxAge: "60s",
  maxVolumeShare: "off",
};
const limitOrigins = Object.fromEntries(Object.keys(limits).map((name) => [name, "default"]));

Deno.test("loadSettings() returns the defaults if nothing is set", async () => {
  const loaded = await load();
  assertEquals(loaded.settings, {
    ...limits,
    gatewayUrl: "http://127.0.0.1:11111",
    pushIdleMs: 300_000,
    keepRunsDays: 400,
    keepRecipeRuns: 100_000,
    keepLogDays: 90,
    keepLogLines: 1_000_000,
    logLevel: "debug",
    plainHttp: "refuse",
    readOnly: "no",
    timeoutMs: 10_000,
    transport: "gateway",
  });
  assertEquals(loaded.origins, {
    ...limitOrigins,
    gatewayUrl: "default",
    pushIdleMs: "default",
    keepRunsDays: "default",
    keepRecipeRuns: "default",
    keepLogDays: "default",
    keepLogLines: "default",
    logLevel: "default",
    plainHttp: "default",
    readOnly: "default",
    timeoutMs: "default",
    transport: "default",
  });
  assertEquals(loaded.file, undefined);
});

Deno.test("loadSettings() prefers flags to the environment and the environment to the file", async () => {
  const files = {
    "hsgate.yaml": "gatewayUrl: http://127.0.0.1:1\npushAddress: 127.0.0.1:2\ntimeoutMs: 3000\n",
  };
  const env = { HSGATE_GATEWAY_URL: "http://127.0.0.1:4", HSGATE_PUSH_ADDRESS: "127.0.0.1:5" };
  const { settings, origins, file } = await load({ flags: { gatewayUrl: "http://127.0.0.1:7" }, env, files });
  assertEquals(settings.gatewayUrl, "http://127.0.0.1:7");
  assertEquals(settings.pushAddress, "127.0.0.1:5");
  assertEquals(settings.timeoutMs, 3000);
  assertEquals(origins, {
    ...limitOrigins,
    gatewayUrl: "flag",
    pushAddress: "HSGATE_PUSH_ADDRESS",
    pushIdleMs: "default",
    keepRunsDays: "default",
    keepRecipeRuns: "default",
    keepLogDays: "default",
    keepLogLines: "default",
    logLevel: "default",
    plainHttp: "default",
    readOnly: "default",
    timeoutMs: "hsgate.yaml",
    transport: "default",
  });
  assertEquals(file, "hsgate.yaml");
});

Deno.test("loadSettings() keeps the zeros of a password that looks like a number", async () => {
  const { settings } = await load({ files: { "hsgate.yaml": "tradePassword: 007700\n" } });
  assertEquals(settings.tradePassword, "007700");
});

Deno.test("loadSettings() reads the line of JSON that the simulator writes, without a warning", async () => {
  const info = JSON.stringify({
    gatewayUrl: "http://127.0.0.1:4001",
    pushAddress: "127.0.0.1:4002",
    tradePassword: "sim-1",
    tradePasswordKey: KEY,
    seed: 1,
    clock: "2025-08-16T12:00:00+08:00",
    authUrl: "http://127.0.0.1:4003",
    tradeServer: "127.0.0.1:4004",
    hqServer: "127.0.0.1:4005",
    developerPrivateKey: "-----BEGIN PRIVATE KEY-----\nMIIC\n-----END PRIVATE KEY-----\n",
    platformPublicKey: "MIGf",
    countryCode: "CHN",
    mobile: "10000000001",
    loginPassword: "sim-2",
  });
  const { settings, warnings } = await load({
    files: { "sim.json": info },
    path: "sim.json",
    required: true,
  });
  assertEquals(settings, {
    ...limits,
    liveTrading: "allow", // the simulator has no real money
    gatewayUrl: "http://127.0.0.1:4001",
    pushAddress: "127.0.0.1:4002",
    pushIdleMs: 300_000,
    keepRunsDays: 400,
    keepRecipeRuns: 100_000,
    keepLogDays: 90,
    keepLogLines: 1_000_000,
    logLevel: "debug",
    plainHttp: "refuse",
    readOnly: "no",
    tradePassword: "sim-1",
    tradePasswordKey: KEY,
    authUrl: "http://127.0.0.1:4003",
    tradeServer: "127.0.0.1:4004",
    hqServer: "127.0.0.1:4005",
    developerPrivateKey: "-----BEGIN PRIVATE KEY-----\nMIIC\n-----END PRIVATE KEY-----\n",
    platformPublicKey: "MIGf",
    countryCode: "CHN",
    mobile: "10000000001",
    loginPassword: "sim-2",
    // The simulator accepts any device id.
    deviceId: "02-00-00-00-00-01",
    timeoutMs: 10_000,
    transport: "gateway",
  });
  assertEquals(warnings, []);
});

Deno.test("loadSettings() with a simulator's settings allows trading only at the addresses that these settings name", async () => {
  const own = {
    gatewayUrl: "http://127.0.0.1:4001",
    authUrl: "http://127.0.0.1:4003",
    tradeServer: "127.0.0.1:4004",
  };
  const simulator = (members: object, world: World = {}) =>
    load({
      ...world,
      path: "sim.json",
      files: { "sim.json": JSON.stringify({ seed: 1, clock: "x", ...members }) },
    });
  const live = async (loaded: ReturnType<typeof load>) => (await loaded).settings.liveTrading;
  assertEquals(await live(simulator(own)), "allow");
  assertEquals(await live(simulator({ gatewayUrl: own.gatewayUrl })), "allow");
  const same = { HSGATE_GATEWAY_URL: own.gatewayUrl };
  assertEquals(await live(simulator(own, { env: same })), "allow", "the same address");
  // Each of these reaches a broker that is not the simulator.
  assertEquals(await live(simulator({})), "refuse");
  assertEquals(
    await live(simulator(own, { env: { HSGATE_GATEWAY_URL: "http://127.0.0.1:11111" } })),
    "refuse",
  );
  assertEquals(await live(simulator(own, { env: { HSGATE_AUTH_URL: "https://broker.example" } })), "refuse");
  assertEquals(await live(simulator(own, { env: { HSGATE_TRADE_SERVER: "broker.example:1" } })), "refuse");
  assertEquals(await live(simulator(own, { flags: { gatewayUrl: "http://127.0.0.1:11111" } })), "refuse");
  // An explicit setting takes precedence.
  assertEquals(await live(simulator({ ...own, liveTrading: "refuse" })), "refuse");
  assertEquals(await live(simulator(own, { env: { HSGATE_LIVE_TRADING: "refuse" } })), "refuse");
});

Deno.test("loadSettings() reads a secret from a separate file, without its line end", async () => {
  const { settings, origins } = await load({
    env: { HSGATE_TRADE_PASSWORD_FILE: "/run/password" },
    files: {
      "/run/password": "p w\n",
      "/run/key": `${KEY}\r\n`,
      "hsgate.yaml": "tradePasswordKeyFile: /run/key",
    },
  });
  assertEquals(settings.tradePassword, "p w");
  assertEquals(settings.tradePasswordKey, KEY);
  assertEquals(origins.tradePassword, "HSGATE_TRADE_PASSWORD_FILE");
  assertEquals(origins.tradePasswordKey, "tradePasswordKeyFile");
});

Deno.test("loadSettings() prefers a secret of the environment to the file's", async () => {
  const { settings } = await load({
    env: { HSGATE_TRADE_PASSWORD_KEY: OTHER_KEY },
    files: { "hsgate.yaml": `tradePasswordKey: ${KEY}` },
  });
  assertEquals(settings.tradePasswordKey, OTHER_KEY);
});

Deno.test("loadSettings() warns when others can read a file with a secret, and only then", async () => {
  const open = { text: "tradePassword: abc", mode: 0o644 };
  assertEquals((await load({ files: { "hsgate.yaml": open } })).warnings, [
    '"hsgate.yaml" contains a secret and others can read it; run: chmod 600 hsgate.yaml',
  ]);
  assertEquals(
    (await load({ files: { "hsgate.yaml": { text: "timeoutMs: 5", mode: 0o644 } } })).warnings,
    [],
  );
  assertEquals((await load({ files: { "hsgate.yaml": "tradePassword: abc" } })).warnings, []);
  const { warnings } = await load({
    env: { HSGATE_TRADE_PASSWORD_FILE: "/p" },
    files: { "/p": { text: "x", mode: 0o640 } },
  });
  assertEquals(warnings, ['"/p" contains a secret and others can read it; run: chmod 600 /p']);
});

Deno.test("loadSettings() reads keys from separate files, and checks who can read the private key", async () => {
  const { settings, warnings } = await load({
    env: { HSGATE_PLATFORM_PUBLIC_KEY_FILE: "/platform.pub", HSGATE_TRANSPORT: "direct" },
    files: {
      "/platform.pub": { text: "MIGf\n", mode: 0o644 },
      "/developer.pem": { text: "MIIC\n", mode: 0o644 },
      "hsgate.yaml": "developerPrivateKeyFile: /developer.pem",
    },
  });
  assertEquals(settings.transport, "direct");
  assertEquals(settings.platformPublicKey, "MIGf");
  assertEquals(settings.developerPrivateKey, "MIIC");
  assertEquals(warnings, [
    '"/developer.pem" contains a secret and others can read it; run: chmod 600 /developer.pem',
  ]);
});

const DIRECT = {
  HSGATE_AUTH_URL: "https://platform.example/api",
  HSGATE_COUNTRY_CODE: "HKG",
  HSGATE_MOBILE: "555",
  HSGATE_LOGIN_PASSWORD: "login",
  HSGATE_DEVICE_ID: "aa-bb-cc-00-11-22",
  HSGATE_DEVELOPER_PRIVATE_KEY: "MIIC",
  HSGATE_PLATFORM_PUBLIC_KEY: "MIGf",
};

Deno.test("directOptionsOf() passes the settings to the transport", async () => {
  const { settings } = await load({
    env: {
      ...DIRECT,
      HSGATE_TRADE_SERVER: "trade.example:9001",
      HSGATE_HQ_SERVER: "hq.example:9002",
      HSGATE_TRADE_PASSWORD: "trade",
      HSGATE_PARAMETER_STYLE: "query",
      HSGATE_CA_CERTS_FILE: "/ca.pem",
      HSGATE_LEASE_FOLDER: "/leases",
      HSGATE_TIMEOUT_MS: "500",
    },
    files: { "/ca.pem": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n" },
  });
  assertEquals(directOptionsOf(settings), {
    url: "https://platform.example/api",
    country: "HKG",
    mobile: "555",
    password: "login",
    deviceId: "aa-bb-cc-00-11-22",
    privateKey: "MIIC",
    platformKey: "MIGf",
    timeoutMs: 500,
    tradeServer: "trade.example:9001",
    quoteServer: "hq.example:9002",
    tradePassword: "trade",
    parameters: "query",
    caCerts: ["-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"],
    leaseFolder: "/leases",
  });
});

Deno.test("directOptionsOf() names all missing settings and how to set them, but no secret", async () => {
  const { HSGATE_MOBILE: _, HSGATE_DEVICE_ID: __, ...env } = DIRECT;
  const { settings } = await load({ env });
  const error = assertThrows(() => directOptionsOf(settings), InvalidParamsError);
  assertEquals(
    error.message,
    "Cannot use the direct transport: 2 issues\n" +
      "mobile: expected a value in HSGATE_MOBILE (or ..._FILE) or in the settings file, got nothing\n" +
      "deviceId: expected a value in HSGATE_DEVICE_ID or in the settings file, got nothing",
  );
});

Deno.test("loadSettings() warns about an unknown key without a similar setting", async () => {
  const { warnings } = await load({ files: { "hsgate.yaml": "colour: blue" } });
  assertEquals(warnings, [
    '"hsgate.yaml" has "colour", which is not a setting; the settings are transport, gatewayUrl, pushAddress, ' +
    "plainHttp, pushIdleMs, readOnly, tradePassword, tradePasswordKey, fundAccounts, authUrl, tradeServer, hqServer, countryCode, mobile, loginPassword, deviceId, developerPrivateKey, " +
    "platformPublicKey, parameterStyle, caCerts, leaseFolder, storePassword, store, volatileStore, keepRunsDays, keepRecipeRuns, keepLogDays, keepLogLines, logLevel, calendars, pingUrl, liveTrading, maxOrderValue, maxSymbolValue, maxDayValue, maxOrdersPerMinute, allowedSymbols, allowShort, priceCollar, quoteMaxAge, maxVolumeShare, timeoutMs, " +
    "tradePasswordFile, tradePasswordKeyFile, fundAccountsFile, mobileFile, loginPasswordFile, developerPrivateKeyFile, " +
    "platformPublicKeyFile, caCertsFile, storePasswordFile, pingUrlFile",
  ]);
});

Deno.test("loadSettings() shortens long names, and counts names after the tenth", async () => {
  const names = Array.from(
    { length: 30 },
    (_, index) => `${String.fromCharCode(113, 113, 113, 97 + index % 26)}${index}${"q".repeat(1000)}: x`,
  );
  const { warnings } = await load({ files: { "hsgate.yaml": names.join("\n") } });
  assertEquals([warnings.length, warnings.at(-1)], [
    11,
    '"hsgate.yaml" has 20 more names that are not settings',
  ]);
  assertEquals(warnings.every((line) => line.length < 1500), true);
  const typos = Array.from({ length: 250 }, (_, index) => `gatewayUr${index}: x`).join("\n");
  const error = await assertRejects(() => load({ files: { "hsgate.yaml": typos } }), InvalidParamsError);
  assertEquals([error.issues.length, error.message.split("\n").length], [250, 202]);
  assertStringIncludes(error.message, "\nand 50 more");
});

Deno.test("loadSettings() and inspectSettingsFile() reject a file with too many names, or with a value that no file name can contain", async () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `qqq${index}: x`).join("\n");
  assertEquals((await load({ files: { "hsgate.yaml": many(1000) } })).warnings.length, 11);
  const cases: [string, string][] = [
    [many(1001), "hsgate.yaml: expected at most 1000 names, got 1001 names"],
    ...["tradePasswordFile", "calendars", "store", "leaseFolder"].map((name): [string, string] => [
      `${name}: "a\\0b"`,
      `${name} (hsgate.yaml): expected a value without the character NUL, got [hidden]`,
    ]),
  ];
  for (const [text, expected] of cases) {
    const readFile = () => Promise.resolve({ text, mode: 0o600 });
    for (
      const read of [
        () => load({ files: { "hsgate.yaml": text } }),
        () => inspectSettingsFile("hsgate.yaml", readFile),
      ]
    ) {
      const { message } = await assertRejects<Error>(read, InvalidParamsError);
      assertStringIncludes(message.replaceAll('"', ""), expected);
    }
  }
});

const refusals: [string, World, string][] = [
  [
    "an amount without its currency",
    { files: { "hsgate.yaml": "maxOrderValue: 500000" } },
    'maxOrderValue (hsgate.yaml): expected amounts with their currencies, such as "500000 HKD, 60000 USD", or "off", got "500000"',
  ],
  [
    "a percentage without its sign",
    { env: { HSGATE_PRICE_COLLAR: "0.1" } },
    "priceCollar (HSGATE_PRICE_COLLAR): expected a percentage above 0%",
  ],
  [
    "a name that is similar to a setting's name",
    { files: { "hsgate.yaml": "gatewayURI: http://127.0.0.1:1" } },
    'hsgate.yaml: expected the setting "gatewayUrl", got "gatewayURI"',
  ],
  [
    "a name that is only part of a setting's name",
    { files: { "hsgate.yaml": "password: abc" } },
    'hsgate.yaml: expected the setting "tradePassword", got "password"',
  ],
  [
    "an address without a scheme",
    { env: { HSGATE_GATEWAY_URL: "127.0.0.1:11111" } },
    'gatewayUrl (HSGATE_GATEWAY_URL): expected an address such as "http://127.0.0.1:11111", got "127.0.0.1:11111"',
  ],
  [
    "a number that is not a port",
    { flags: { pushAddress: "127.0.0.1:70000" } },
    'pushAddress (flag): expected an address such as "127.0.0.1:11112", got "127.0.0.1:70000"',
  ],
  [
    "a name that is not a transport",
    { flags: { transport: "memory" } },
    'transport (flag): expected "gateway" or "direct", got "memory"',
  ],
  [
    "a platform on another machine without TLS",
    { flags: { authUrl: "http://example.com" } },
    'authUrl (flag): expected an address such as "https://host" (plain http only on a loopback address), got "http',
  ],
  [
    "a country that the platform does not know",
    { env: { HSGATE_COUNTRY_CODE: "86" } },
    'countryCode (HSGATE_COUNTRY_CODE): expected "CHN" or "HKG", got "86"',
  ],
  [
    "a phone that is empty, without showing it",
    { files: { "hsgate.yaml": 'mobile: ""' } },
    'mobile (hsgate.yaml): expected text that is not empty, got "[hidden]"',
  ],
  [
    "a time limit of zero",
    { env: { HSGATE_TIMEOUT_MS: "0" } },
    'timeoutMs (HSGATE_TIMEOUT_MS): expected milliseconds from 1 to 3600000, got "0"',
  ],
  [
    "a file that is missing",
    { path: "x.yaml", required: true },
    'the settings file: expected a file that exists, got "x.yaml"',
  ],
  [
    "a secret given twice",
    { env: { HSGATE_TRADE_PASSWORD: "a", HSGATE_TRADE_PASSWORD_FILE: "/p" } },
    'HSGATE_TRADE_PASSWORD_FILE: expected no file, because HSGATE_TRADE_PASSWORD is set too, got "/p"',
  ],
  [
    "a list",
    { files: { "hsgate.yaml": "- a" } },
    "hsgate.yaml: expected lines such as gatewayUrl: http://127.0.0.1:11111",
  ],
];
for (const [what, world, message] of refusals) {
  Deno.test(`loadSettings() rejects ${what}`, async () => {
    const error = await assertRejects(() => load(world), InvalidParamsError);
    assertStringIncludes(error.message, `Cannot read the settings: ${message}`);
  });
}

Deno.test("loadSettings() accepts the largest number of a setting, and no larger one", async () => {
  const linesOf = async (most: string) =>
    (await load({ env: { HSGATE_KEEP_LOG_LINES: most } })).settings.keepLogLines;
  assertEquals(await linesOf("1000000000"), 1_000_000_000);
  await assertRejects(
    () => linesOf("1000000001"),
    InvalidParamsError,
    'keepLogLines (HSGATE_KEEP_LOG_LINES): expected lines from 10000 to 1000000000, got "1000000001"',
  );
});

Deno.test("loadSettings() reports all mistakes in one error", async () => {
  const error = await assertRejects(
    () => load({ env: { HSGATE_GATEWAY_URL: "nowhere", HSGATE_TIMEOUT_MS: "soon" } }),
    InvalidParamsError,
  );
  assertEquals(error.issues.map(({ path }) => path), [["gatewayUrl (HSGATE_GATEWAY_URL)"], [
    "timeoutMs (HSGATE_TIMEOUT_MS)",
  ]]);
});

const leaks: [string, World][] = [
  ["a key that is not Base64", { env: { HSGATE_TRADE_PASSWORD_KEY: "hunter2" } }],
  ["an address with a password in it", { env: { HSGATE_GATEWAY_URL: "http://me:hunter2@127.0.0.1:1" } }],
  ["YAML that ends in the middle", { files: { "hsgate.yaml": 'tradePassword: "hunter2' } }],
  ["YAML with an alias", { files: { "hsgate.yaml": "tradePassword: *hunter2" } }],
  ["YAML with a tag", { files: { "hsgate.yaml": "tradePassword: !hunter2 x" } }],
  ["a key that is given twice", { files: { "hsgate.yaml": "tradePassword: a\ntradePassword: hunter2" } }],
  ["a list in place of a secret", { files: { "hsgate.yaml": "tradePassword: [hunter2]" } }],
  ["a secret next to a typo", { files: { "hsgate.yaml": "tradePasswort: hunter2" } }],
];
for (const [what, world] of leaks) {
  Deno.test(`loadSettings() keeps secrets out of its message: ${what}`, async () => {
    const error = await assertRejects(() => load(world), InvalidParamsError);
    assertEquals(Deno.inspect(error).includes("hunter2"), false);
  });
}
