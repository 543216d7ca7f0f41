/**
 * Extracts the scripts from pages of the documentation, and runs them against the simulator. It changes only their
 * addresses, and adds the address of the push stream.
 */
import { assert, assertEquals } from "@std/assert";
import { ShiftedClock } from "../../lib/time.ts";
import { startSimulator } from "../../lib/simulator/mod.ts";

const root = new URL("../../", import.meta.url);

/** A script that starts with the command to run it. */
export interface PageScript {
  name: string;
  text: string;
  /** Flags of that command. */
  flags: string[];
}

/** Returns the text of a page. */
export const pageText = (path: string) => Deno.readTextFileSync(new URL(path, root));

/** Returns the scripts of pages. */
export function scriptsOf(...paths: string[]): PageScript[] {
  const pages = paths.map(pageText).join("\n");
  return [...pages.matchAll(/```ts ignore\n(\/\/ deno run (.*) (\w+)\.ts\n[^]*?)```/g)].map(
    ([, text = "", flags = "", name = ""]) => ({ text, flags: flags.split(" "), name }),
  );
}

/** Patterns that the output of each script must match, by the script's name. */
export const expected: Record<string, RegExp[]> = {
  funds: [/^assets \d+\.\d\d HKD, available \d+\.\d\d HKD$/m, /00\d{3}\.HK/],
  fees: [/^2025-08-1\d (buy|sell) \d+ AAPL at \d+/m, /^fees \d+\.\d\d USD$/m],
  order: [/^order \d+ is placed$/m, /^00700\.HK filled 100 \d+/m],
  direct: [/^assets \d+\.\d\d HKD over direct$/m],
  book: [/^2025-08-11 provisional\n(2025-08-1\d provisional\n){4}$/],
};

/** How to run a script. */
interface RunOptions {
  /** Folder for the script; imports are resolved from there. */
  folder: string;
  /** Path of Deno. @default the running one */
  deno?: string;
  /** Further flags of `deno run`. */
  flags?: readonly string[];
  /** Environment of the script. @default the environment of this process */
  env?: Record<string, string>;
}

/** Runs a script with the permissions that it states, and checks what it prints. */
export async function assertRuns(script: PageScript, options: RunOptions): Promise<void> {
  await using simulator = await startSimulator({
    seed: 1,
    clock: new ShiftedClock(Date.parse("2025-08-15T10:00:00+08:00")),
    days: 30,
    gateway: { pushIntervalMs: 200 },
  });
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey, ...platform } = simulator.info;
  const { host, port } = new URL(gatewayUrl);
  const file = `${options.folder}/${script.name}.ts`;
  // Replaces the addresses of the page, and adds the simulator's push address to `gateway`.
  const withSimulatorAddresses = (part: string) =>
    part.replaceAll("127.0.0.1:11111", host).replaceAll("127.0.0.1:11112", pushAddress);
  const withPush = withSimulatorAddresses(script.text).replaceAll(
    `gateway: "http://${host}"`,
    `gateway: { url: "http://${host}", push: "${pushAddress}" }`,
  );
  await Deno.writeTextFile(file, withPush);
  const { code, stdout, stderr } = await new Deno.Command(options.deno ?? Deno.execPath(), {
    args: ["run", "--no-prompt", ...options.flags ?? [], ...script.flags.map(withSimulatorAddresses), file],
    cwd: options.folder,
    clearEnv: options.env !== undefined,
    env: {
      ...options.env,
      HSGATE_TRADE_PASSWORD: tradePassword,
      HSGATE_TRADE_PASSWORD_KEY: tradePasswordKey,
      HSGATE_AUTH_URL: platform.authUrl,
      HSGATE_MOBILE: platform.mobile,
      HSGATE_LOGIN_PASSWORD: platform.loginPassword,
      HSGATE_DEVELOPER_PRIVATE_KEY: platform.developerPrivateKey,
      HSGATE_PLATFORM_PUBLIC_KEY: platform.platformPublicKey,
      NO_COLOR: "1",
    },
  }).output();
  const output = new TextDecoder().decode(stdout);
  const errors = new TextDecoder().decode(stderr);
  assertEquals([code, errors], [0, ""], `port ${port}: ${output}`);
  for (const pattern of expected[script.name] ?? []) assert(pattern.test(output), `${pattern} in\n${output}`);
  assert(!output.includes(tradePassword));
}
