/**
 * Detects addresses that are secrets themselves: anybody who knows a chat webhook can post there, and anybody who knows
 * a ping address can make a dead recipe look alive.
 *
 * @module
 */
import { isLoopback } from "../../loopback.ts";

/** Services whose addresses contain a token in their path. */
const knownHosts = [
  "hooks.slack.com",
  "discord.com",
  "discordapp.com",
  "open.feishu.cn",
  "open.larksuite.com",
  "oapi.dingtalk.com",
  "qyapi.weixin.qq.com",
  "webhook.office.com",
  "logic.azure.com",
  "chat.googleapis.com",
  "api.telegram.org",
  "hooks.zapier.com",
  "maker.ifttt.com",
  "api.day.app",
  "sctapi.ftqq.com",
  "ntfy.sh",
  "hc-ping.com",
  "healthchecks.io",
  "cronitor.link",
  "nosnch.in",
  "uptime.betterstack.com",
  "uptime.betteruptime.com",
];

/** Words in the names of secrets. */
const secretWords = /^(password|passwd|pwd|pin|passphrase|passcode|secret|token|credentials?|apikey)$/;

/** Returns whether a name means a secret: `password`, `apiToken`, `api_key`. */
export function namesSecret(name: string): boolean {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z\d]+/);
  return words.some((word, index) =>
    secretWords.test(word) || word === "key" && /^(api|private|access|secret)$/.test(words[index - 1] ?? "")
  );
}

/** Returns what was expected instead of a secret address. */
export const secretAddress = (what: string) =>
  `"\${secret:${what}}", because anybody who knows the address can use it; declare it as ` +
  `secrets: { ${what}: { env: NAME } }`;

/** Returns an address with "0" in place of each expression. */
export function filledAddress(address: string): string {
  const end = address.lastIndexOf("}}") + 2; // after this offset no expression can end
  return address.slice(0, end).replaceAll(/\$\{\{[\s\S]*?\}\}/g, "0") + address.slice(end);
}

/** Returns whether an address in a recipe must be kept secret. */
export function holdsToken(address: string): boolean {
  // A reference to a secret is allowed, and the result of an expression is not a secret.
  if (address.includes("${secret:")) return false;
  const url = URL.parse(filledAddress(address));
  if (url === null || isLoopback(url.hostname)) return false;
  if (url.username !== "" || url.password !== "" || url.search !== "") return true;
  if (knownHosts.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`))) return true;
  return url.pathname.split("/").some((part) =>
    // Ids and tokens are long and contain both letters and digits. Names that people choose are rarely like that.
    /^[\w.~-]{16,}$/.test(part) && /\d/.test(part) && /[a-zA-Z]/.test(part)
  );
}

/** Returns whether an address is on this machine, where a token protects nothing. */
export function isOnThisMachine(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && isLoopback(url.hostname);
}
