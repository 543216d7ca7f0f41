/**
 * Creates the simulated account that the scripts and the notebook read. It connects to no broker.
 *
 * Every script creates its own. All are equal, because their content follows from the seed.
 *
 * @module
 */
import { type Client, connect } from "hsgate";
import { ShiftedClock, startGateway } from "hsgate/simulator";

/** Markets of the account. */
export const markets = ["hk", "us"] as const;

/** Opens a client; the simulated broker ends with it. */
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
