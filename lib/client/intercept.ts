/**
 * Wraps a client so that one function handles each of its writes, whichever method the caller uses.
 *
 * @module
 */
import { catalogue } from "../operations/mod.ts";
import type { AnyOperation } from "../operations/operation.ts";
import type { CallOptions, Transport } from "../transports/transport.ts";
import type { Client } from "./client.ts";

/** A write that a caller wants to send. */
export interface WantedWrite {
  operation: AnyOperation;
  params: unknown;
  options: CallOptions;
  /**
   * Sends the write. Awaits `beforeWrite` of the options before the transport gets the write; if that throws, nothing
   * is sent.
   */
  send(options: CallOptions): Promise<unknown>;
}

/** Functions that handle the calls of a client. */
export interface Interceptor {
  /** Called instead of each write. Resolves to the result for the caller. */
  write(wanted: WantedWrite): Promise<unknown>;
  /** Called instead of each raw call, because it may be a write. `path` names it, such as `trade/TradeEntrust`. */
  raw(path: string, params: unknown, send: () => Promise<unknown>): Promise<unknown>;
  /**
   * Called with each error of the client's `call` and of its methods that are not paged. Not called for raw calls, or
   * for calls of the transport. @default does nothing
   */
  onError?(error: unknown): void;
}

/** Returns a client whose writes and raw calls go through the interceptor. Other calls and pushes are unchanged. */
export function intercepted(client: Client, interceptor: Interceptor): Client {
  const reportingErrors = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      interceptor.onError?.(error);
      throw error;
    }
  };
  const call = (operation: AnyOperation, params: unknown, options: CallOptions = {}) =>
    reportingErrors(
      operation.effect === "write"
        ? interceptor.write({
          operation,
          params,
          options,
          send: (given) => client.call(operation, params, given),
        })
        : client.call(operation, params, options),
    );
  const families = Object.entries(catalogue).map(([name, family]) => {
    // Safe cast: the client has every family of the catalogue, and each method takes parameters and options.
    const own = client[name as keyof typeof catalogue] as Readonly<
      Record<string, (...args: unknown[]) => Promise<unknown>>
    >;
    const methods = Object.entries<AnyOperation>(family).filter(([, { paging }]) => paging === undefined)
      .map(([key, operation]) => [
        key,
        operation.effect === "write"
          ? (params: unknown = {}, options: CallOptions = {}) => call(operation, params, options)
          : (...args: unknown[]) => reportingErrors(own[key]!(...args)),
      ]);
    return [name, { ...own, ...Object.fromEntries(methods) }];
  });
  const raw: Client["raw"] = (group, name, params, options) =>
    interceptor.raw(`${group}/${name}`, params, () => client.raw(group, name, params, options));
  const transport = interceptedTransport(client.transport, interceptor);
  // Safe cast: each replaced method has the same parameters and results.
  return { ...client, ...Object.fromEntries(families), transport, raw, call } as Client;
}

/** Intercepts the transport too, because a caller could use it to bypass the client. */
function interceptedTransport(inner: Transport, interceptor: Interceptor): Transport {
  const { openPushes, push, logins, account, name, readOnly } = inner;
  return {
    name,
    call: async (operation, params, options) =>
      operation.effect === "write"
        ? await interceptor.write({
          operation,
          params,
          options,
          async send({ beforeWrite, ...given }) {
            await beforeWrite?.();
            return await inner.call(operation, params, given);
          },
        })
        : await inner.call(operation, params, options),
    raw: (group, path, params, options) =>
      interceptor.raw(`${group}/${path}`, params, () => inner.raw(group, path, params, options)),
    ...push !== undefined && { push },
    ...account !== undefined && { account: () => account.call(inner) },
    ...openPushes !== undefined && { openPushes: (hooks) => openPushes.call(inner, hooks) },
    ...logins !== undefined && { logins },
    ...readOnly !== undefined && { readOnly },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}
