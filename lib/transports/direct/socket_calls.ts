/**
 * Sends calls over the sockets and reads their answers. Updates the logins if an answer shows that a login has ended.
 *
 * @module
 */
import {
  BrokerError,
  DisplacedError,
  LoginExpiredError,
  ProtocolError,
  RejectedError,
} from "../../errors.ts";
import type { WireAnswer } from "../../operations/answer_shapes.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { Messages, Payload, Response } from "../../wire/messages.ts";
import type { OperationContext } from "../envelope.ts";
import { type CallContext, undelivered } from "../outcome.ts";
import { type CallOptions, type LateAnswer, reportBrokerTime } from "../transport.ts";
import type { EventFeed } from "./events.ts";
import type { CallLimits } from "./link_calls.ts";
import { type Logins, needsLogin, type Route } from "./trade_login.ts";
import { decodeAnswer, requestNumber } from "./payloads.ts";
import type { PlatformSession } from "./platform_session.ts";

/** Options of {@linkcode SocketCalls}. */
interface SocketCallsOptions {
  messages: Messages;
  feed: EventFeed;
  /** Unix milliseconds. */
  now: () => number;
  session: PlatformSession;
  logins: Logins;
  /** Called when another program or device has logged in with the account. */
  onDisplaced(error: DisplacedError): void;
}

/** An operation to send. */
interface SocketCall {
  readonly operation: AnyOperation;
  /** The parameters with hsgate's names. */
  readonly params: unknown;
  readonly payload: Payload | undefined;
}

const transport = "direct";

/** Sends the calls of both sockets. */
export class SocketCalls {
  readonly #options: SocketCallsOptions;

  constructor(options: SocketCallsOptions) {
    this.#options = options;
  }

  /** Sends an operation, and resolves to the answer with hsgate's names. */
  async send(
    route: Route,
    { operation, params, payload }: SocketCall,
    limits: CallLimits,
    options: CallOptions,
  ): Promise<unknown> {
    const { onLateAnswer, keepWire, beforeFirstByte } = options;
    const context: OperationContext = { operation, transport, params };
    const response = await route.link.request({
      type: requestNumber(operation),
      ...payload !== undefined && { payload },
      token: route.token.text,
      context,
      limits,
      beforeFirstByte,
      onLate: (requestId, late) => this.#late(route, context, { requestId, response: late, onLateAnswer }),
    });
    reportBrokerTime(options, response.time, "answer");
    options.onWire?.(this.#wireOf(response));
    return this.#take(route, context, response, keepWire);
  }

  /** Returns an answer with all of its members, as `onWire` gets it. */
  #wireOf({ type, code, text, payload }: Response): WireAnswer {
    const head = { over: "socket", type, code, text } as const;
    if (payload === undefined) return head;
    const { name, bytes } = payload;
    const { messages } = this.#options;
    let members: unknown;
    try {
      members = messages.decodeAll(name, bytes);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error; // damaged, or a message without a definition
    }
    return { ...head, payload: { name, members } };
  }

  #take(
    route: Route,
    context: OperationContext,
    response: Response,
    keepWire?: CallOptions["keepWire"],
  ): unknown {
    const { messages } = this.#options;
    return this.noting(
      context,
      route,
      () =>
        decodeAnswer(context, response, {
          messages,
          ...keepWire !== undefined && { keepWire },
        }),
    );
  }

  /**
   * Decodes an answer with `read`, and updates the logins. If the answer reports that a login has ended, ends that
   * login. If it reports that the server does not know the connection, ends the connection. Otherwise extends the
   * validity of the token.
   */
  noting<T>(context: CallContext, route: Route, read: () => T): T {
    try {
      const answer = read();
      this.#options.session.touch(route.token);
      if (route.made !== undefined && needsLogin(context)) route.made.worked = true;
      return answer;
    } catch (thrown) {
      const error = this.#options.logins.asExpiredIfReplaced(thrown, route.token);
      if (error instanceof DisplacedError) this.#options.onDisplaced(error);
      else if (error instanceof LoginExpiredError) this.#options.logins.expired(error, context, route);
      else if (error instanceof RejectedError && error.code === "1004") {
        // The server does not know this connection, so the call was not executed. End the connection.
        const lost = undelivered(context, error.message, "1004", error);
        if (lost instanceof BrokerError) route.link.fail(lost);
        throw lost;
      } else this.#options.session.touch(route.token);
      throw error;
    }
  }

  #late(
    route: Route,
    context: OperationContext,
    { requestId, response, onLateAnswer }: {
      requestId: string;
      response: Response;
      onLateAnswer: CallOptions["onLateAnswer"];
    },
  ): void {
    const { operation } = context;
    const late: LateAnswer = { requestId, operation: operation.name };
    try {
      late.result = this.#take(route, context, response);
    } catch (error) {
      late.error = error;
    }
    const { feed, now } = this.#options;
    const channel = operation.group === "hq" ? "quote" : "trade";
    feed.emit({ type: "late-answer", channel, at: now(), ...late });
    onLateAnswer?.(late);
  }
}
