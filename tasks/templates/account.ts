/**
 * Creates the simulated account that the scripts and the notebook read. It connects to no broker.
 *
 * Each script creates its own account. Accounts that are created on the same day have the same history, because the
 * seed and the date determine it.
 *
 * @module
 */
import { type Client, connect } from "hsgate";
import { ShiftedClock, startGateway } from "hsgate/simulator";

/** Markets of the account. */
export const markets = ["hk", "us"] as const;

/** Opens a client with its own simulated broker. Closing the client stops the broker. */
export async function open(): Promise<Client> {
  const broker = await startGateway({ seed: 1, clock: new ShiftedClock(Date.now()) });
  const { gatewayUrl, pushAddress, tradePassword, tradePasswordKey } = broker.info;
  const client = await connect({
    gateway: { url: gatewayUrl, push: pushAddress },
    tradePassword,
    tradePasswordKey,
  });
  const closeClient = client.close;
  const close = async () => {
    await closeClient();
    await broker.close();
  };
  return Object.assign(client, { close, [Symbol.asyncDispose]: close });
}
