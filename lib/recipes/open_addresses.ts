/**
 * Addresses that are secrets themselves: whoever knows the webhook of a chat can write there, and whoever knows a ping
 * can keep a dead recipe looking alive.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";

/** Services whose addresses hold a token in their path. */
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

/** Words in the names of what must be kept secret. */
const secretWords = /^(password|passwd|pwd|pin|passphrase|passcode|secret|token|credentials?|apikey)$/;

/** Tells whether a name is one of something to be kept secret: `password`, `apiToken`, `api_key`. */
export function namesSecret(name: string): boolean {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z\d]+/);
  return words.some((word, index) =>
    secretWords.test(word) || word === "key" && /^(api|private|access|secret)$/.test(words[index - 1] ?? "")
  );
}

/** What to write instead. */
export const secretAddress = (what: string) =>
  `"\${secret:${what}}", as whoever knows the address can use it; secrets: { ${what}: { env: NAME } } says where ` +
  "it comes from";

/** Tells whether an address that stands in a recipe is one to be kept secret. */
export function holdsToken(address: string): boolean {
  // What an expression works out is no secret, and a reference is what is asked for.
  if (address.includes("${secret:")) return false;
  const url = URL.parse(address.replaceAll(/\$\{\{[\s\S]*?\}\}/g, "0"));
  if (url === null || isLoopback(url.hostname)) return false;
  if (url.username !== "" || url.password !== "" || url.search !== "") return true;
  if (knownHosts.some((host) => url.hostname === host || url.hostname.endsWith(`.${host}`))) return true;
  return url.pathname.split("/").some((part) =>
    // Ids and tokens are long, and hold letters and digits; names that people give seldom do.
    /^[\w.~-]{16,}$/.test(part) && /\d/.test(part) && /[a-zA-Z]/.test(part)
  );
}

/** Tells whether an address leads to this very machine, where a token would keep nobody out. */
export function leadsHere(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && isLoopback(url.hostname);
}
