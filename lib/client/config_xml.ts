/**
 * Reads the gateway's own `config.xml`, to find its ports and what is wrong with it.
 *
 * @module
 * @see API document 1, gateway configuration
 */
import { InvalidParamsError } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** What a `config.xml` says. The phone number stays behind: only whether there is one. */
export interface GatewayConfig {
  hasMobile: boolean;
  countryCode?: string;
  /** @default "127.0.0.1" */
  listenIp: string;
  /** @default 11111 */
  listenHttpPort: number;
  /** @default 11112 */
  listenTcpPort: number;
  logPath?: string;
  privateKeyPath?: string;
  /** Members that have a value which cannot be used, in words; the usual values stand in their places. */
  unusable: string[];
  /** What is wrong or doubtful, in words; never holds the phone number. */
  problems: string[];
}

const ROOT = "hs_gateway";
const keys = [
  "mobile",
  "countryCode",
  "listenIp",
  "listenHttpPort",
  "listenTcpPort",
  "logPath",
  "privateKeyPath",
];

/**
 * Reads a `config.xml`. Comments, attributes, CDATA and the order of the elements do not matter.
 *
 * @throws {InvalidParamsError} When it is not XML with the root `hs_gateway`.
 */
export function readConfigXml(text: string): GatewayConfig {
  const problems: string[] = [];
  const unusable: string[] = [];
  const values = readElements(text, problems);
  const port = (name: string, usual: number) => {
    const value = values.get(name);
    if (value === undefined) return usual;
    const number = /^\d{1,5}$/.test(value) ? Number(value) : 0;
    if (number >= 1 && number <= 65_535) return number;
    const text = `${name} is "${value}", which is no port; ${usual} is the usual one`;
    unusable.push(text);
    problems.push(text);
    return usual;
  };
  const config: GatewayConfig = {
    hasMobile: values.has("mobile"),
    listenIp: values.get("listenIp") ?? "127.0.0.1",
    listenHttpPort: port("listenHttpPort", 11_111),
    listenTcpPort: port("listenTcpPort", 11_112),
    unusable,
    problems,
  };
  for (const name of ["countryCode", "logPath", "privateKeyPath"] as const) {
    const value = values.get(name);
    if (value !== undefined) config[name] = value;
  }
  judge(config);
  return config;
}

function judge(config: GatewayConfig): void {
  const { hasMobile, countryCode, listenIp, listenHttpPort, listenTcpPort, privateKeyPath, problems } =
    config;
  if (!hasMobile) problems.push("mobile is missing: the gateway logs in with this phone number");
  if (countryCode === undefined) problems.push("countryCode is missing: CHN or HKG, for example");
  else if (!/^(\+?\d{1,4}|[A-Z]{3})$/.test(countryCode)) {
    problems.push(`countryCode is "${countryCode}": write it like CHN, HKG, +86 or +852`);
  }
  if (privateKeyPath === undefined) {
    problems.push("privateKeyPath is missing: without the developer's key the gateway cannot sign");
  }
  if (listenHttpPort === listenTcpPort) {
    problems.push(`listenHttpPort and listenTcpPort are both ${listenHttpPort}: they must differ`);
  }
  if (!/^(127(\.\d{1,3}){3}|localhost|::1)$/.test(listenIp)) {
    problems.push(
      `listenIp is "${listenIp}": the gateway asks nobody for a password, so whoever reaches this address can trade`,
    );
  }
}

const TOKEN =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<!DOCTYPE[^>]*>|<(\/?)([\w:.-]+)[^>]*?(\/?)>|([^<]+)/g;

/** Texts of the elements right below the root. */
function readElements(text: string, problems: string[]): Map<string, string> {
  const values = new Map<string, string>();
  const open: string[] = [];
  let content = "";
  let at = 0;
  let sawRoot = false;
  for (const [token, cdata, slash, name, selfClosing, plain] of text.replace(/^\ufeff/, "").matchAll(TOKEN)) {
    // The first character in no token is a broken tag.
    at += token.length;
    if (cdata !== undefined) content += cdata;
    else if (plain !== undefined) content += unescape(plain);
    else if (name !== undefined && slash === "/") {
      if (open.at(-1) !== name) refuse(`</${name}> closes <${open.at(-1) ?? "nothing"}>`);
      open.pop();
      if (open.length === 1) take(name, content.trim());
      content = "";
    } else if (name !== undefined) {
      if (open.length === 0) {
        if (name !== ROOT || sawRoot) refuse(`its root is <${name}>, not <${ROOT}>`);
        sawRoot = true;
      }
      if (selfClosing !== "/") open.push(name);
      content = "";
    }
  }
  if (!sawRoot) refuse(`there is no <${ROOT}>`);
  if (open.length > 0) refuse(`<${open.at(-1)}> is not closed`);
  if (at !== text.replace(/^\ufeff/, "").length) refuse("a tag is broken");
  return values;

  function take(name: string, value: string): void {
    if (!keys.includes(name)) {
      const meant = nearest(name, keys);
      problems.push(`<${name}> is no setting${meant === undefined ? "" : `; did you mean <${meant}>?`}`);
    } else if (values.has(name)) problems.push(`<${name}> stands there twice; the first one counts here`);
    else if (value !== "") values.set(name, value);
  }
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

function unescape(text: string): string {
  return text.replace(/&(\w+);/g, (whole, name: string) => entities[name] ?? whole);
}

function refuse(reason: string): never {
  throw new InvalidParamsError("read the gateway's config.xml", [
    { path: [], value: reason, expected: `XML with the root <${ROOT}>` },
  ], { code: "config-xml" });
}
