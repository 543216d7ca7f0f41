// deno-lint-ignore-file no-console -- a script prints to its terminal; `hsgate init` leaves this line out of its copy
/**
 * Connects to the account that `hsgate.yaml` and the environment name. The scripts and the notebook read this account.
 *
 * @module
 */
import type { Client } from "hsgate";
import { connectConfigured } from "hsgate/settings";

/** Markets of the account. */
export const markets = ["hk", "us"] as const;

/** Opens a client with the settings of this folder. */
export async function open(): Promise<Client> {
  return await connectConfigured({
    env: (name) => Deno.env.get(name),
    path: "hsgate.yaml",
    onWarning: console.warn,
  });
}
