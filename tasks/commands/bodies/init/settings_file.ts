/**
 * The settings of a working folder. Secrets are never in it: it says where they are looked for.
 *
 * @module
 */
import type { Answers } from "./answers.ts";

const start = `# Settings of this folder. Flags and environment variables come before them.
`;

const ledger = `
# What was due and what became of it. Runs are written down here, so that none is done twice: keep this file, and
# copy it with "deno task hsgate ledger backup".
ledger: hsgate.db
`;

const simulator = `
# The recipes connect to a simulator of their own, so no address and no password is needed. For a broker: take
# "connect: simulator" out of the recipes, and write here what "hsgate init --connect gateway" would.
`;

const tradePassword = `
# The trade password: in the environment as HSGATE_TRADE_PASSWORD, or in a file that only you can read (chmod 600),
# which HSGATE_TRADE_PASSWORD_FILE or this line names:
# tradePasswordFile: secrets/trade_password
`;

const gateway = (url: string) => `
# Way to the broker: its gateway program.
transport: gateway
gatewayUrl: ${url}
${tradePassword}# Its key, which the vendor publishes, in the same ways: HSGATE_TRADE_PASSWORD_KEY, or ..._FILE, or:
# tradePasswordKeyFile: secrets/trade_password_key
`;

const direct = (url: string | undefined) => `
# Way to the broker: its own socket, without the gateway program. "deno task hsgate keys new --out secrets" makes the
# pair of keys and says what to do with it; "deno task hsgate doctor" tells what is missing or wrong.
transport: direct
${
  url === undefined
    ? "# authUrl: https://… (the platform's address, from the broker's documentation)"
    : `authUrl: ${url}`
}
# countryCode: HKG or CHN, the country of the login phone
# deviceId: the MAC address of the bound device
# developerPrivateKeyFile: secrets/developer_private.pem
# platformPublicKeyFile: secrets/platform.pem

# Login phone and password: in files below this folder that only you can read (chmod 600), which these lines name, or
# in the environment as HSGATE_MOBILE and HSGATE_LOGIN_PASSWORD; then HSGATE_CONFIG=hsgate.yaml says that this file is
# yours, as a password is not sent to an address of a file that was only found:
# mobileFile: secrets/mobile
# loginPasswordFile: secrets/login_password
${tradePassword}`;

/** Writes `hsgate.yaml`. */
export function settingsFor({ way, gatewayUrl, authUrl }: Answers): string {
  const text = way === "simulator" ? simulator : way === "gateway" ? gateway(gatewayUrl) : direct(authUrl);
  return start + text + ledger;
}
