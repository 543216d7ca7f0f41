/**
 * Checks the platform for `hsgate doctor`, step by step: login, servers, sockets, trade login.
 *
 * @module
 */
import type { Settings } from "../../../lib/client/settings.ts";
import { securityOf } from "../../../lib/client/security.ts";
import type { DirectClient } from "../../../lib/client/connect.ts";
import {
  BrokerError,
  BusyError,
  DisplacedError,
  InvalidParamsError,
  LoginRefusedError,
  ProtocolError,
  RejectedError,
  TransportError,
} from "../../../lib/errors.ts";
import type { Result } from "../../../lib/operations/operation.ts";
import { platform } from "../../../lib/operations/platform.ts";
import { FIRST_ANSWER_CODE } from "../../../lib/transports/direct/link.ts";
import { addressOf } from "../../../lib/transports/net/address.ts";
import { failed, type Finding, ok, type Patience, portFinding, warning } from "./findings.ts";

/** Logs in and then checks servers and sockets. A step that depends on a failed one does not run. */
export async function* sessionFindings(
  client: DirectClient,
  settings: Settings,
  patience: Patience,
): AsyncGenerator<Finding> {
  const { signal } = patience;
  const login = await attempt("login", signal, async () => {
    // The transport logs in and adds the token. It decodes the answer into the operation's type, so the cast is safe.
    const answer = await client.transport.call(platform.servers, {}, { signal });
    return answer as Result<typeof platform.servers>;
  });
  if ("finding" in login) return yield login.finding;
  yield ok("login", "the platform accepts the login, and its token can be decrypted");
  const { tradeServer = login.value.tradeServer, hqServer = login.value.quoteServer } = settings;
  const servers = [["market server", hqServer], ["trade server", tradeServer]] as const;
  const open = new Set<string>();
  for (const [check, address] of servers) {
    const port = await portFinding(check, addressOf(address), {
      ...patience,
      advice:
        "The platform names this server, unless a setting does (tradeServer, hqServer); a firewall may " +
        "block outgoing connections to its port",
      exitCode: 4,
    });
    if (port.state === "ok") open.add(check);
    yield port;
  }
  if (open.has("market server")) yield await marketFinding(client, signal);
  if (open.has("trade server")) yield await tradeFinding(client, settings, signal);
}

async function marketFinding(client: DirectClient, signal: AbortSignal): Promise<Finding> {
  const check = "market data";
  const securities = [securityOf("00700.HK")];
  const quote = await attempt(check, signal, () => client.quotes.latest({ securities }, { signal }));
  return "finding" in quote ? quote.finding : ok(check, "the market socket answers with a quote");
}

async function tradeFinding(
  client: DirectClient,
  { tradePassword }: Settings,
  signal: AbortSignal,
): Promise<Finding> {
  const check = "trade login";
  if (tradePassword === undefined) {
    return warning(
      check,
      "not checked: no trade password is set; market data works without it",
      "Set HSGATE_TRADE_PASSWORD (or ..._FILE)",
    );
  }
  const login = await attempt(check, signal, () => client.account.login({}, { signal }));
  return "finding" in login
    ? login.finding
    : ok(check, "the trade password is right, and the trade socket is ready");
}

async function attempt<T>(
  check: string,
  signal: AbortSignal,
  step: () => Promise<T>,
): Promise<{ value: T } | { finding: Finding }> {
  try {
    return { value: await step() };
  } catch (error) {
    if (signal.aborted || !(error instanceof BrokerError)) throw error;
    return { finding: explain(check, error) };
  }
}

/** Explains why a step failed. */
function explain(check: string, error: BrokerError): Finding {
  const root = rootOf(error);
  const said = root instanceof RejectedError ? root.text : root.message;
  const words = said === "" ? "without a reason" : `"${said}"`;
  // Show only the broker's codes, which are numbers. Our own codes only repeat the sentence.
  const code = /^\d+$/.test(root.code ?? "") ? `respCode ${root.code}, ` : "";
  if (root instanceof DisplacedError) {
    return failed(
      check,
      `another device or program has logged in with this account (${code}${words})`,
      "Close the other one, then run doctor again; otherwise both keep taking the login from each other",
      6,
    );
  }
  if (root.code === "token") {
    return failed(
      check,
      "the platform accepts the login, but its token cannot be decrypted: the developer key is not the registered one",
      'Name the right private key, or register this one; "hsgate keys check FILE" prints its public key',
      2,
    );
  }
  if (
    root instanceof RejectedError && root.operation === platform.login.name && !(root instanceof BusyError)
  ) {
    const [reason, advice] = refusal(root);
    return failed(check, `the platform rejects the login: ${reason}${code}${words}`, advice, 6);
  }
  if (root.code === FIRST_ANSWER_CODE) {
    return failed(
      check,
      "the first answer of the connection is unreadable: a key is wrong, or the answer was changed on its " +
        "way",
      "Run doctor again. If it says the same, check the platform key: test and production have different keys. " +
        "Copy it again from the developer page, and register the developer key that you use. If both keys are " +
        "right, somebody is changing the connection: do not trade",
      2,
    );
  }
  if (root.code === "1002") {
    return failed(
      check,
      `the platform rejects the signature of the request (${code}${words})`,
      'The developer key is not the registered one; "hsgate keys check FILE" prints its public key',
      2,
    );
  }
  if (root instanceof RejectedError) {
    const refused = chainOf(error).find((each) => each instanceof LoginRefusedError);
    return rejected(check, root, { words: `${code}${words}`, isTemporary: refused?.reason === "temporary" });
  }
  if (root instanceof TransportError) {
    const advice = root.code === "lease-held"
      ? "Close that program first"
      : "Try again; if it fails again, check the network and any firewall";
    return failed(check, root.message, advice, 4);
  }
  const isOtherProgram = root instanceof ProtocolError && /not-json|not-an-envelope/.test(root.code ?? "");
  return failed(
    check,
    isOtherProgram ? "something answers at authUrl, but it is not the platform" : root.message,
    isOtherProgram
      ? "Check authUrl (HSGATE_AUTH_URL)"
      : "Capture the traffic and decode it with: hsgate inspect",
    isOtherProgram ? 4 : 1,
  );
}

function rejected(
  check: string,
  root: RejectedError,
  { words, isTemporary }: { words: string; isTemporary: boolean },
): Finding {
  if (root.code?.startsWith("http-")) {
    return failed(
      check,
      `something answers at authUrl, but not as the platform does (${words})`,
      "Check authUrl (HSGATE_AUTH_URL), including its path",
      4,
    );
  }
  if (root instanceof BusyError) {
    return failed(check, `the platform is busy (${words})`, "Try again later", 4);
  }
  if (/login$/i.test(root.operation ?? "")) {
    return failed(
      check,
      `the platform rejects the trade login (${words})`,
      isTemporary
        ? "Read the platform's message; it does not mention the password. Try again later"
        : "Check the trade password against the broker's app; too many wrong tries can lock the account, so do not " +
          "repeat this",
      6,
    );
  }
  const isEntitlement = root.code === "1006";
  return warning(
    check,
    `the connection works, but the platform rejects the request (${words})`,
    isEntitlement
      ? "This account has no right to this request: ask the broker"
      : "Read the platform's message",
  );
}

/** Explains why a login was rejected; uses our own text for known reasons. */
function refusal({ code, text }: RejectedError): [reason: string, advice: string] {
  if (/white ?list|\bIP\b|白名单/i.test(text)) {
    return [
      "this machine's address is not on the whitelist: ",
      "Add the address that this machine has on the internet to the whitelist on the developer page",
    ];
  }
  if (/device|\bbind|bound|设备|绑定/i.test(text)) {
    return [
      "the device is not bound: ",
      "Bind it with the broker's binding tool (it sends an SMS), and set deviceId to that MAC address",
    ];
  }
  if (code === "1003" || /crypt|加密|解密/i.test(text)) {
    return [
      "it cannot decrypt the password: ",
      "The platform key is wrong: test and production have different keys. Copy it again",
    ];
  }
  if (/password|phone|mobile|密码|手机/i.test(text)) {
    return [
      "wrong phone, country or password: ",
      "Check mobile, countryCode and loginPassword; too many wrong tries can lock the account, so do not repeat this",
    ];
  }
  return ["", "Check the login, the bound device and the whitelist on the developer page"];
}

/** Returns an error and its causes, outermost first. */
function chainOf(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : [];
}

/** Returns the original error: the transport wraps errors that happened before a call was sent. */
function rootOf(error: BrokerError): BrokerError {
  const { cause } = error;
  return cause instanceof BrokerError && !(error instanceof InvalidParamsError) ? rootOf(cause) : error;
}
