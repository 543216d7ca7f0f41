/**
 * What `hsgate login` does.
 *
 * @module
 */
import type { LoginInput } from "../login.ts";
import { clientOf } from "../session.ts";

/** Logs in with the password of the settings, or out. */
export async function run({ flags, host }: LoginInput): Promise<number> {
  await using client = await clientOf(flags, host);
  const options = { signal: host.signal };
  if (flags.logout) await client.account.logout({}, options);
  else await client.account.login({}, options);
  const loggedIn = !flags.logout;
  host.out(flags.json ? JSON.stringify({ loggedIn }) : loggedIn ? "logged in for trading" : "logged out");
  return 0;
}
