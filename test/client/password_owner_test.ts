import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { connectConfigured } from "../../lib/client/configured.ts";
import { InvalidParamsError } from "../../lib/errors.ts";
import { loadSettings, type SettingsFile } from "../../lib/client/settings.ts";
import { folder } from "../cli/runner_support.ts";
import { cli, KEY, PASSWORD } from "../cli/support.ts";

const FILE = "hsgate.yaml";
const EVIL = "gatewayUrl: http://192.0.2.1:9\nplainHttp: allow\n";
const EVIL_DIRECT = "transport: direct\nauthUrl: https://evil.example\n";
const trade = { HSGATE_TRADE_PASSWORD: PASSWORD, HSGATE_TRADE_PASSWORD_KEY: KEY };
const env = {
  ...trade,
  HSGATE_LOGIN_PASSWORD: "login-word",
};

async function load(
  files: Record<string, string | SettingsFile>,
  more: { env?: Record<string, string>; named?: boolean; flags?: { gatewayUrl: string } } = {},
) {
  const { settings, warnings } = await loadSettings({
    env: (name) => (more.env ?? env as Record<string, string>)[name],
    readFile: (path) => {
      const file = files[path];
      return Promise.resolve(typeof file === "string" ? { text: file, mode: 0o600 } : file);
    },
    path: FILE,
    required: false,
    ...more.named !== undefined && { named: more.named },
    ...more.flags !== undefined && { flags: more.flags },
  });
  const { tradePassword: trade, loginPassword: login, mobile, developerPrivateKey: key } = settings;
  return { trade, login, mobile, key, warnings };
}

Deno.test("an address in a settings file that was only found gets no password from elsewhere", async () => {
  const gateway = await load({ [FILE]: EVIL });
  assertEquals([gateway.trade, gateway.login], [undefined, "login-word"]);
  assertEquals(gateway.warnings, [
    'tradePassword (HSGATE_TRADE_PASSWORD) is not used: gatewayUrl comes from "hsgate.yaml", which was only found in ' +
    "this folder; if that file is yours, name it: --config hsgate.yaml or HSGATE_CONFIG",
  ]);
  const direct = await load({ [FILE]: EVIL_DIRECT });
  assertEquals([direct.trade, direct.login, direct.warnings.length], [undefined, undefined, 2]);
  for (const server of ["tradeServer", "hqServer"]) {
    const { trade: word, login } = await load({ [FILE]: `transport: direct\n${server}: evil.example:1\n` });
    assertEquals([word, login], [undefined, undefined], server);
  }
  // Any file of the person's could be named as the phone, and sent in clear.
  const named = await load({
    [FILE]: `${EVIL_DIRECT}mobileFile: /home/me/key.pem\ndeveloperPrivateKeyFile: /home/me/key.pem\n`,
    "/home/me/key.pem": { text: "PRIVATE", mode: 0o600 },
  });
  assertEquals([named.mobile, named.key], [undefined, undefined]);
  const own = { ...env, HSGATE_MOBILE: "13800001111" };
  assertEquals((await load({ [FILE]: EVIL_DIRECT }, { env: own })).mobile, undefined);
  assertEquals(
    (await load({ [FILE]: EVIL_DIRECT }, { env: own, named: true })).mobile,
    "13800001111",
    "the control",
  );
  // The stranger's own login, to which the person's trade password would be added.
  const mixed = await load({ [FILE]: `authUrl: https://evil.example\nloginPassword: theirs\n` }, {
    env: trade,
  });
  assertEquals([mixed.trade, mixed.login], [undefined, "theirs"]);
  // A file of the person's that the found file names, plainly and through a link of the folder.
  const outside = { text: PASSWORD, mode: 0o600 };
  for (
    const [path, real] of [["/home/me/pw", "/home/me/pw"], ["pw", "/home/me/pw"], ["../pw", "/home/me/pw"]]
  ) {
    const { trade } = await load({
      [FILE]: { text: `${EVIL}tradePasswordFile: ${path}\n`, mode: 0o600, real: "/srv/strange/hsgate.yaml" },
      [path!]: { ...outside, real },
    }, { env: {} });
    assertEquals(trade, undefined, path);
  }
  for (const path of ["/home/me/pw", "../pw"]) {
    const files = { [FILE]: `${EVIL}tradePasswordFile: ${path}\n`, [path]: outside };
    assertEquals((await load(files, { env: {} })).trade, undefined, path);
  }
});

Deno.test("a password is used where its owner has named the address, or the address is this machine's", async () => {
  const kept = async (...given: Parameters<typeof load>) => {
    const { trade, warnings } = await load(...given);
    assertEquals([trade, warnings.filter((each) => each.includes("not used"))], [PASSWORD, []]);
  };
  await kept({ [FILE]: EVIL }, { named: true });
  await kept({ [FILE]: EVIL }, { flags: { gatewayUrl: "http://192.0.2.2:9" } });
  await kept({ [FILE]: EVIL }, { env: { ...env, HSGATE_GATEWAY_URL: "http://192.0.2.2:9" } });
  await kept({ [FILE]: "gatewayUrl: http://127.0.0.1:7\n" });
  await kept({ [FILE]: "gatewayUrl: http://[::1]:7\n" });
  await kept({});
  await kept({ [FILE]: "authUrl: https://platform.example\n" }, { env: trade }); // the gateway is used, and is this machine's
  await kept({ [FILE]: `${EVIL}tradePassword: "${PASSWORD}"\n` }, { env: {} });
  await kept({ [FILE]: `${EVIL}tradePasswordFile: secrets/pw\n`, "secrets/pw": PASSWORD }, { env: {} });
  assertEquals((await load({ [FILE]: EVIL_DIRECT }, { named: true })).login, "login-word");
});

Deno.test("login in a stranger's folder has no password, says why, and sends nothing", async () => {
  const files = { [FILE]: EVIL };
  const { code, out, err } = await cli(["login"], { env, files });
  assert(code !== 0);
  assertStringIncludes(
    err,
    "warning: tradePassword (HSGATE_TRADE_PASSWORD) is not used: gatewayUrl comes from",
  );
  assert(!err.includes("192.0.2.1:9") && !(out + err).includes(PASSWORD), err);
});

Deno.test("scripts name the settings file that they mean", async () => {
  await using dir = await folder({ "hsgate.yaml": EVIL_DIRECT });
  const warnings: string[] = [];
  const onWarning = (text: string) => void warnings.push(text);
  const all = (name: string) => (env as Record<string, string>)[name];
  const missing = async (path: string) =>
    (await assertRejects(() => connectConfigured({ env: all, path, onWarning }), InvalidParamsError)).message;
  const message = await missing(`${dir.path}/hsgate.yaml`);
  assert(message.includes("mobile") && !message.includes("loginPassword"), message);
  assertEquals(warnings.filter((each) => each.includes("not used")), []);
});
