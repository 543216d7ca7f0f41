/**
 * Reads the gateway's `config.xml`: its ports, and mistakes in it.
 *
 * @module
 * @see API document 1, gateway configuration
 */
import { parseXml, type XmlDocument, XmlElement, XmlError } from "@rgrove/parse-xml";
import { BrokerError } from "../errors.ts";
import { nearest } from "./nearest.ts";

/** A text is not a `config.xml`. */
export class ConfigXmlError extends BrokerError {
  /** Name of the class. */
  override readonly name: string = "ConfigXmlError";
  /** What is wrong, such as "it is not XML at line 3, column 5"; never contains the phone number. */
  readonly reason: string;

  /** Creates the error from what is wrong. */
  constructor(reason: string) {
    super(`Cannot read the gateway's config.xml: ${reason}`, { code: "config-xml" });
    this.reason = reason;
  }
}

/** Content of a `config.xml`. `hasMobile` says whether there is a phone number; the number itself is left out. */
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
  /** Descriptions of settings with an invalid value, for which the default is used. */
  unusable: string[];
  /** Descriptions of everything wrong or doubtful; never contains the phone number. */
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
 * @throws {ConfigXmlError} If it is not XML with the root `hs_gateway`.
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
    const text = `${name} is "${value}", which is not a port; hsgate uses the default ${usual}`;
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
  addProblems(config);
  return config;
}

/** Adds descriptions of missing, invalid and dangerous settings to `config.problems`. */
function addProblems(config: GatewayConfig): void {
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
      `listenIp is "${listenIp}": the gateway requires no password, so anyone who can reach this address can trade`,
    );
  }
}

/** Returns the texts of the elements directly below the root. */
function readElements(text: string, problems: string[]): Map<string, string> {
  const { root } = parsed(text);
  if (root?.name !== ROOT) throw new ConfigXmlError(`its root is <${root?.name}>, not <${ROOT}>`);
  const values = new Map<string, string>();
  for (const element of root.children) {
    if (!(element instanceof XmlElement)) continue;
    const [name, value] = [element.name, element.text.trim()];
    if (!keys.includes(name)) {
      const meant = nearest(name, keys);
      problems.push(`<${name}> is not a setting${meant === undefined ? "" : `; did you mean <${meant}>?`}`);
    } else if (values.has(name)) problems.push(`<${name}> is given twice; hsgate uses the first one`);
    else if (value !== "") values.set(name, value);
  }
  return values;
}

function parsed(text: string): XmlDocument {
  try {
    return parseXml(text);
  } catch (error) {
    // The parser's message may repeat the phone number.
    if (error instanceof XmlError) {
      throw new ConfigXmlError(`it is not XML at line ${error.line}, column ${error.column}`);
    }
    if (error instanceof RangeError) throw new ConfigXmlError("its elements are nested too deeply");
    throw error;
  }
}
