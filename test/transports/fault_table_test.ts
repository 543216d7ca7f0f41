/**
 * Lists the tests of each fault for each transport, the order desk and the runner. "All" means a test of the
 * conformance suite, which runs over memory, gateway and direct. Every test also proves that the fault happened: it
 * checks how often the fault occurred, the same call without the fault, or the state of the stopped process.
 *
 * F01 response cut after the order was accepted
 * - all: conformance/limits_test.ts "a broken connection: a read is retried and succeeds, a write has an unknown outcome"
 * - gateway: client/faults_test.ts "reset-after: an answer cut at any byte is never accepted as complete"
 * - direct: transports/direct_link_test.ts "an answer cut after any number of bytes leaves one order, and an unknown outcome"
 * - desk: desk/desk_test.ts "a lost answer is found in the broker's lists, and the call returns the order"
 *
 * F02 response after the timeout, or for an older request
 * - all: conformance/limits_test.ts "timeout: no other call gets a late answer"
 * - gateway: transports/gateway_test.ts "a slow answer reaches its own call among many concurrent calls"
 * - direct: transports/direct_link_test.ts "a late answer reaches only its own call"
 * - desk: desk/faults_test.ts "F02: an answer that arrives after its call was aborted is recorded for its own intent, and not for the next one"
 *
 * F03 reset after k bytes of the request
 * - memory: none: a call is one function call, which cannot be cut
 * - gateway: transports/fault_request_test.ts "a request cut after any number of bytes creates no order, and is sent once"
 * - gateway: transports/gateway_test.ts "a write after reads is sent once, although fetch would send it again"
 * - direct: transports/direct_link_test.ts "a request cut after any number of bytes is not placed, and its outcome is unknown"
 * - desk: desk/desk_test.ts "a lost answer is found in the broker's lists, and the call returns the order"
 * - desk: desk/desk_test.ts "a lost request stays unknown until the lists also show a later order; only then it is proven not sent"
 *
 * F04 streams cut at every byte, single bytes, many frames at once
 * - memory: none: pushes are passed as whole bodies
 * - gateway: wire/framing_test.ts "FrameDecoder finds the same frames when the stream is cut at any byte"
 * - gateway: transports/push_test.ts "events() yields the vendor's own push frames, sent byte by byte"
 * - direct: wire/sealing_test.ts "Sealing opens all frames from one read, and from reads of one byte"
 * - direct: transports/direct_link_test.ts "frames that are split, joined, or padded by the rule mod_len are read correctly"
 * - direct: transports/direct_push_test.ts "a push stream cut at any byte of a push loses no order without a gap"
 *
 * F05 damaged headers, lengths, signatures, padding, keys
 * - all: conformance/errors_test.ts "an unreadable answer: a read throws a ProtocolError, or has one as its cause; a write has an unknown outcome"
 * - gateway: transports/push_test.ts "events() reports the fault of a header, and reconnects"
 * - gateway: client/faults_test.ts "huge-body: an answer above the limit is rejected, with a length or in chunks"
 * - direct: transports/direct_link_test.ts "a damaged answer ends the connection with a typed error"
 * - direct: transports/fault_restart_test.ts "a platform that restarts with other keys causes a typed error, and few attempts"
 *
 * F06 killed between intent and answer
 * - memory: none: the broker would end with the process
 * - gateway: desk/crash_points_test.ts "F06: if a program is killed while it waits, its next start completes the work, and each order is placed once, over "
 * - direct: desk/crash_points_test.ts "F06: if a program is killed while it waits, its next start completes the work, and each order is placed once, over "
 * - direct: transports/direct_lease_test.ts "takeLease() takes over from a process that was killed"
 * - desk: desk/desk_test.ts "an intent of a process that ended in the middle is abandoned if it was not sent, and searched in the lists if it was"
 * - runner: runner/kill_test.ts "Scheduler loses nothing and begins no write twice when it is killed at each of many points"
 * - runner: runner/cut_store_test.ts "a run keeps its slot and writes once, with the fault "
 *
 * F07 a torn record, an error of fsync, a full disk
 * - memory: none: the store of the runner is the same over each transport
 * - gateway: runner/fault_store_test.ts "F07: after a kill during a write, a write-ahead log that is cut at any byte contains the write, or the store is rejected"
 * - gateway: runner/fault_store_test.ts "F07: a write is not sent when the mark cannot be synced"
 * - gateway: runner/fault_store_test.ts "F07: with a full disk no write is sent, the store can be read, and no complete data is lost"
 * - direct: none: as above, the store does not depend on the transport
 *
 * F08 to F12 are about orders with an unknown outcome. The tests of transports show that the lists named in the error
 * contain the outcome, and that nothing is sent again. The order desk matches orders to an interrupted write.
 *
 * F08 an order that fills before the first query
 * - all: conformance/lost_orders_test.ts "an order that fills before the first query is found among today's orders and fills"
 * - all: conformance/lost_orders_test.ts "a conditional order whose answer was lost is in its own list, and not among today's orders"
 * - desk: desk/faults_test.ts "F08: an order that fills before the first reading, and is in no list of orders, is found through its fill"
 *
 * F09 an order that the broker splits, with one part missing in the lists. A transport does not distinguish a rejected
 * part from one that a person cancelled.
 * - all: conformance/lost_orders_test.ts "the parts of an order that the broker splits add up to its quantity, until a part is cancelled"
 * - desk: desk/desk_test.ts "the parts of an order that the broker splits belong to one intent, with and without an answer"
 * - desk: desk/prove_test.ts "judge() adds up the parts of a split order, and never counts more than was requested"
 *
 * F10 an amendment whose answer is lost, and after which both the old and the new order exist
 * - memory: none: the step does the same over each transport, and is tested over the gateway
 * - gateway: recipes/lost_cancels_test.ts "an amendment whose answer is lost and that leaves two orders: both are found and both are cancelled"
 * - direct: none: as above, the step does not depend on the transport
 * - desk: desk/faults_test.ts "F10: an amendment whose answer is lost and that may have left two orders is ambiguous, and names both"
 *
 * F11 a cancellation at the same time as a fill, or after the order has ended
 * - memory: none: the step does the same over each transport, and is tested over the gateway
 * - gateway: recipes/lost_cancels_test.ts "a cancellation that arrives after the fill: the list shows the fill, and the cancellation is sent once"
 * - gateway: recipes/lost_cancels_test.ts "a cancellation whose answer is lost stays unknown until a list shows that the order has ended"
 * - direct: none: as above, the step does not depend on the transport
 * - desk: desk/faults_test.ts "F11: a cancellation that loses the race against the fill is sent once, and the lists show its outcome"
 *
 * F12 a batch cancel that times out with 60 of 100 done
 * - memory: none: the step does the same over each transport, and is tested over the gateway
 * - gateway: recipes/lost_cancels_test.ts "a batch cancel that times out after 60 of 100: only the remaining orders are cancelled"
 * - gateway: transports/outcome_test.ts "after a batch cancellation, an order that the answer does not mention has an unknown outcome"
 * - direct: none: the message of the batch cancel is not published
 * - desk: desk/faults_test.ts "F12: a batch cancellation that was executed in part stays unknown, and nothing of it is sent again"
 *
 * F13 login lost during a batch, during a list of several pages, during a login, or while 100 calls wait
 * - all: conformance/login_test.ts "a lost login during 100 reads: all are answered after one new login"
 * - all: conformance/login_test.ts "a lost login while reading pages: every row is returned once"
 * - all: conformance/login_test.ts "a login that is lost during the login call throws an error, without a loop"
 * - all: conformance/login_test.ts "a write with a lost login fails and is not repeated"
 * - direct: transports/direct_session_test.ts "one login serves 100 calls whose token expires in the middle"
 *
 * F14 login taken over, second connection, trade login expired while the token is valid
 * - all: conformance/login_test.ts "a login taken over throws a DisplacedError, and the client does not log in again"
 * - direct: transports/direct_session_test.ts "after a login takeover, the client does not log in again"
 * - direct: transports/direct_session_test.ts "a trade connection that another program has taken over is not reopened"
 * - direct: transports/direct_session_test.ts "an expired trade login is renewed without a new token"
 * - direct: transports/direct_lease_test.ts "a second client of the account is rejected before it can end the connection of the first"
 *
 * F15 half-open: the server stops but keeps its sockets open
 * - memory: none: there is no server process; the timeout tests in conformance/limits_test.ts cover an endpoint that is too slow
 * - gateway: transports/fault_half_open_test.ts "a stopped gateway: a read times out, a write has an unknown outcome and is executed at most once"
 * - gateway: transports/fault_half_open_test.ts "a stopped push port is detected by its silence if a limit is set"
 * - gateway: client/silent_push_test.ts "connect() replaces a silent push connection, reports the gap, and receives order pushes again"
 * - direct: transports/fault_half_open_test.ts "a stopped platform: the check rejects a write before it is sent, and the link is reopened"
 * - direct: transports/fault_half_open_test.ts "a platform that stops under an idle link is detected after three silent intervals"
 *
 * F16 event loop blocked for three heartbeat intervals
 * - memory: none: it has no heartbeat
 * - gateway: transports/fault_half_open_test.ts "a blocked event loop loses no push of the gateway, because pushes wait in the socket"
 * - direct: transports/fault_half_open_test.ts "an event loop blocked for three intervals keeps the link if the platform keeps it"
 * - direct: transports/fault_half_open_test.ts "after an event loop blocked for longer than the platform waits, a new link works"
 *
 * F17 the server restarts
 * - memory: none: an endpoint has no process; conformance/pushes_test.ts covers a stream that is cut
 * - gateway: transports/fault_restart_test.ts "a restarted gateway: one login, a gap, restored subscriptions, and the lists show the fill"
 * - gateway: transports/fault_restart_test.ts "over the gateway, a write that is the first call after a restart fails, and is not repeated"
 * - direct: transports/fault_restart_test.ts "a restarted platform: a new token and session, one trade login, and the lists show the fill"
 *
 * F18 one fill is withheld while all other pushes arrive. No transport can detect it, because pushes have no numbers.
 * Only the lists show the fill, so a program has to query them from time to time.
 * - all: conformance/pushes_test.ts "a fill whose push was lost is in the list of fills"
 *
 * F19 pushes that are repeated, reordered, or earlier than the answer
 * - all: conformance/pushes_test.ts "a repeated push is delivered once, and reordered pushes are delivered in the new order"
 * - all: conformance/pushes_test.ts "a push may arrive before the answer to its order, with the same order number"
 * - desk: desk/faults_test.ts "F19: pushes that are repeated, reordered, lost or early lead to the same intents as all pushes in order"
 *
 * F20 pages: rows are added, a page is missing, short or repeated, cursors are wrong, midnight passes
 * - all: conformance/paging_test.ts "a list with short pages is read completely, and a list with a missing page causes an error"
 * - all: conformance/paging_test.ts "a list that grows at its beginning returns each row once"
 * - all: conformance/paging_test.ts "a repeated, decreasing or missing cursor ends the reading with an error"
 * - all: conformance/paging_test.ts "a page that is rejected as busy is requested again, and each row is returned once"
 * - gateway: client/paging_test.ts "a list that becomes empty while it is read, as at midnight, is detected"
 * - gateway: client/paging_test.ts "rows added at the start of a list are detected, and identical rows are not mistaken for them"
 * - gateway: client/paging_test.ts "alternating pages are detected at the third page, with paging by cursor and by number"
 * - gateway: day_book/whole_lists_test.ts "exportDayBook() calls today's list incomplete if its day changed between two pages"
 * - gateway: day_book/whole_lists_test.ts "exportDayBook() calls today's list incomplete if it is emptied during the reading"
 *
 * F21 clock changes of New York, a sleeping machine, a clock that jumps
 * - runner: runner/scheduler_test.ts "F21: each run key runs once over both New York clock changes, sleep and clock steps"
 *
 * F22 half-days, holidays, days without a calendar, a market that rejects a write
 * - runner: runner/scheduler_test.ts "F22: a recipe that writes skips holidays, late wake-ups and days without a calendar, and never loops"
 * - runner: runner/scheduler_test.ts "F22: a write that the market rejects is not retried"
 * - runner: runner/writes_test.ts "a write follows the actual session: half-days shorten its window"
 *
 * F23 killed between the sales and the purchases of a rebalance. The next process continues the recorded plan and makes
 * no new one. The runner repeats neither sales nor purchases of a recipe that sends them without the step `rebalance`.
 * - memory: none: processes are killed, and the memory transport does not leave its process
 * - gateway: runner/fault_store_test.ts "F23: a run killed between sells and buys repeats neither and reports it; the next day runs completely"
 * - gateway: runner/rebalance_killed_test.ts "a scheduled rebalancing that is killed between its sales and its purchases is finished once"
 * - gateway: rebalance/killed_test.ts "a killed execution is finished by the next process, with "
 * - direct: rebalance/killed_test.ts "a killed execution is finished by the next process, with "
 *
 * F24 two runners on one account, a lock that is left after a power loss
 * - direct: transports/direct_lease_test.ts "a second client of the account is rejected before it can end the connection of the first"
 * - direct: transports/direct_lease_test.ts "takeLease() takes over from a process that was killed"
 * - runner: runner/scheduler_test.ts "F24: only one of two schedulers uses their account at a time, and an expired lease is taken over"
 * - runner: runner/writes_test.ts "two writes of one account never run at once, not even when a lease has just expired"
 *
 * F25 the day book before clearing, after clearing, exported a second time, and with two identical lines
 * - memory: day_book/transports_test.ts "exportDayBook() writes the same bytes of a provisional day over every transport"
 * - gateway: day_book/whole_lists_test.ts "exportDayBook() keeps two identical lines of an evening that it exports before clearing, after clearing and once more"
 * - gateway: day_book/simulated_test.ts "exportDayBook() marks the running day, and makes it final once its fees have arrived"
 * - direct: day_book/transports_test.ts "exportDayBook() writes the same bytes of final days over every transport"
 *
 * F27 the broker is busy, or answers 503, with twenty callers
 * - all: conformance/load_test.ts "an order is answered while twenty slow reads are in progress"
 * - all: conformance/load_test.ts "twenty readers of a busy broker try three times each, and an order among them is sent once"
 * - gateway: conformance/load_test.ts "twenty readers of a gateway that answers 503 try at most three times each, and succeed afterwards"
 *
 * F28 the wall clock jumps back to before the expiry of a token
 * - memory: none: it has no token
 * - gateway: none: the gateway keeps the token
 * - direct: transports/direct_session_test.ts "the age of a token is measured with a clock that never jumps"
 * - desk: desk/desk_test.ts "a jump of the clock between two readings of the lists does not count as elapsed time"
 *
 * F29 a reader that stops while quotes and orders arrive
 * - all: conformance/load_test.ts "a reader that stops loses no order; its quotes arrive in their order, and some are conflated"
 * - gateway: transports/push_test.ts "a stopped reader keeps every order and the newest quotes, with constant memory"
 * - gateway: transports/push_test.ts "a fast reader gets every quote, at any rate"
 *
 * F30 a notebook's kernel that is killed while it watches and trades. For a transport, only the lists show the
 * outcome of writes that were in progress.
 * - memory: none: the broker would end with the process
 * - gateway: client/killed_watch_test.ts "F30: after a kernel was killed during a watch, the next kernel watches again with one call, and sees the killed kernel's order"
 * - direct: transports/direct_lease_test.ts "takeLease() takes over from a process that was killed"
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

/** Returns whether a file defines a test with this name. The name is a whole string, or the beginning of a template. */
function hasTest(source: string, name: string): boolean {
  const compact = source.replaceAll(/(\(|\bname:)\s+/g, "$1");
  return ["(", "name:"].some((before) =>
    compact.includes(`${before}"${name}"`) || compact.includes(`${before}\`${name}`)
  );
}

interface Row {
  fault: string;
  /** What happens, in the words of the list. */
  title: string;
  transport: string;
  /** File and name of the test; absent if the line gives a reason. */
  test?: { file: string; name: string };
}

function rowsOf(comment: string): Row[] {
  const rows: Row[] = [];
  let [fault, title] = ["", ""];
  for (const line of comment.split("\n")) {
    [, fault = fault, title = title] = /^ \* (F\d\d) ([^.]*)/.exec(line) ?? [];
    const [, transport, rest = ""] = /^ \* - (\w+): (.*)$/.exec(line) ?? [];
    if (transport === undefined) continue;
    const [, file, name] = /^(\S+) "(.*)"$/.exec(rest) ?? [];
    assert(file !== undefined || /^none: \w+ \w+/.test(rest), `${fault} ${transport}: no test and no reason`);
    rows.push({
      fault,
      title,
      transport,
      ...file !== undefined && name !== undefined && { test: { file, name } },
    });
  }
  return rows;
}

Deno.test("the table of faults names an existing test or a reason for each transport", async () => {
  const source = await Deno.readTextFile(new URL(import.meta.url));
  const rows = rowsOf(source.slice(0, source.indexOf("*/")));
  const expected = [
    "F01",
    "F02",
    "F03",
    "F04",
    "F05",
    "F06",
    "F07",
    "F08",
    "F09",
    "F10",
    "F11",
    "F12",
    "F13",
    "F14",
    "F15",
    "F16",
    "F17",
    "F18",
    "F19",
    "F20",
    "F21",
    "F22",
    "F23",
    "F24",
    "F25",
    "F27",
    "F28",
    "F29",
    "F30",
  ];
  assertEquals([...new Set(rows.map(({ fault }) => fault))], expected);
  for (const fault of expected) {
    const named = new Set(rows.filter((row) => row.fault === fault).map(({ transport }) => transport));
    if (named.has("runner")) continue; // the runner does not depend on a transport
    for (const transport of ["memory", "gateway", "direct"]) {
      assert(named.has("all") || named.has(transport), `${fault} has no line for ${transport}`);
    }
  }
  const sources = new Map<string, string>();
  for (const { fault, test } of rows) {
    if (test === undefined) continue;
    const text = sources.get(test.file) ??
      await Deno.readTextFile(new URL(`../${test.file}`, import.meta.url));
    sources.set(test.file, text);
    assert(hasTest(text, test.name), `${fault}: ${test.file} has no test "${test.name}"`);
  }
});

Deno.test("docs/testing.md lists each fault with the files of its tests", async () => {
  const source = await Deno.readTextFile(new URL(import.meta.url));
  const page = await Deno.readTextFile(new URL("../../docs/testing.md", import.meta.url));
  const faults = Map.groupBy(rowsOf(source.slice(0, source.indexOf("*/"))), ({ fault }) => fault);
  const expected = [...faults].map(([fault, rows]) => {
    const files = new Set(rows.flatMap(({ test }) => test === undefined ? [] : [`\`${test.file}\``]));
    return `| ${fault} | ${rows[0]!.title} | ${[...files].sort().join(", ")} |`;
  });
  const listed = page.split("\n").filter((line) => /^\| F\d\d /.test(line)).map((line) =>
    line.replaceAll(/ +/g, " ")
  );
  assertEquals(listed, expected);
});
