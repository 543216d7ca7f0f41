/**
 * Runs `hsgate login`.
 *
 * @module
 */
import { UsageError } from "../../terminal/exit_codes.ts";
import type { LoginInput } from "../login.ts";
import { clientOf } from "../shared/session.ts";

/** Logs in with the password of the settings, or logs out. */
export async function run({ flags, host }: LoginInput): Promise<number> {
  await using client = await clientOf(flags, host, { command: "login" });
  const options = { signal: host.signal };
  const isDirect = client.transport.name === "direct";
  if (flags.logout && isDirect) {
    throw new UsageError(
      "Cannot log out over the direct transport: a login belongs to one connection and ends with it, " +
        "so there is no login to end",
    );
  }
  if (flags.logout) await client.account.logout({}, options);
  else await client.account.login({}, options);
  const loggedIn = !flags.logout;
  host.out(flags.json ? JSON.stringify({ loggedIn }) : loggedIn ? "logged in for trading" : "logged out");
  if (isDirect) {
    host.note("hsgate: the login ended with this command's connection; each command logs in again");
  }
  return 0;
}
