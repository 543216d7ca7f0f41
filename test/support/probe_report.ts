/**
 * Creates texts of `hsgate probe` reports with any answer. Such a report can look as if somebody else had edited it.
 *
 * @module
 */

/** Returns the text of a report with one call of `account.funds` and the given answer over the socket. */
export function reportWith(answer: object): string {
  const call = { operation: "account.funds", params: [], codes: {}, outcome: "fits", ms: 1, differences: [] };
  return JSON.stringify({
    what: "hsgate probe",
    format: 1,
    transport: "direct",
    started: "",
    ended: "",
    families: {},
    left: [],
    calls: [{ ...call, answer: { over: "socket", ...answer } }],
  });
}
