/**
 * A transport that lets nothing through that writes: what a dry run stands on.
 *
 * @module
 */
import type { AnyOperation } from "../operations/operation.ts";
import type { Transport } from "./transport.ts";

/** Wraps a transport. Logins still work, as reads need them; closing it closes the one within. */
export function readOnly(inner: Transport): Transport {
  const refuse = (what: string) =>
    Promise.reject(new TypeError(`Cannot call ${what}: this connection reads alone`));
  const { openPushes, push, logins, account } = inner;
  return {
    name: inner.name,
    call: (operation: AnyOperation, params, options) =>
      operation.effect === "write" ? refuse(operation.name) : inner.call(operation, params, options),
    // Nobody knows what it would do, so it counts as a write.
    raw: (group, name) => refuse(`${group}/${name}`),
    ...push !== undefined && { push },
    ...account !== undefined && { account: () => account.call(inner) },
    ...openPushes !== undefined && { openPushes: (hooks) => openPushes.call(inner, hooks) },
    ...logins !== undefined && { logins },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}
