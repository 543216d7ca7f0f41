/**
 * Which test shows which fault on which transport. "All" are tests of the conformance suite, written once and run
 * over memory, gateway and direct. Every one of them has its control beside it: the count of strikes, the same call
 * under the same fault with the other outcome, or the state of the process that was stopped.
 *
 * F01 response cut after the order was accepted
 * - all: conformance/limits_test.ts "a broken connection: a read is retried and succeeds, a write has an unknown outcome"
 * - gateway: client/faults_test.ts "reset-after: an answer cut at any byte is never accepted as complete"
 * - direct: transports/direct_link_test.ts "an answer cut after any number of bytes leaves one order, and an unknown outcome"
 *
 * F02 response after the timeout, or for an older request
 * - all: conformance/limits_test.ts "timeout: no other call gets a late answer"
 * - gateway: transports/gateway_test.ts "a slow answer reaches its own call when many are under way"
 * - direct: transports/direct_link_test.ts "a late answer reaches the call that asked, and no other one"
 *
 * F03 reset after k bytes of the request
 * - memory: none: a call is one function call, which cannot be cut
 * - gateway: transports/fault_request_test.ts "a request that is cut after any number of bytes creates no order, and is sent once"
 * - gateway: transports/gateway_test.ts "a write on a reused connection is sent once, although fetch would send it again"
 * - direct: transports/direct_link_test.ts "a request cut after any number of bytes is never placed twice"
 *
 * F04 streams cut at every byte, single bytes, many frames at once
 * - memory: none: pushes are handed in as whole bodies
 * - gateway: wire/framing_test.ts "FrameDecoder finds the same frames when the stream is cut at any byte"
 * - gateway: transports/push_test.ts "events() yields the vendor's own push frames, sent byte by byte"
 * - direct: wire/sealing_test.ts "Sealing opens all frames out of one read, and out of reads of one byte"
 * - direct: transports/direct_link_test.ts "frames that are split, joined or padded by the other rule are read all the same"
 * - direct: transports/direct_push_test.ts "a push stream cut at any byte of a push loses no order without a gap"
 *
 * F05 damaged headers, lengths, signatures, padding, keys
 * - all: conformance/errors_test.ts "an unreadable answer: a read throws a ProtocolError, a write has an unknown outcome"
 * - gateway: transports/push_test.ts "events() reports the fault of a header, and reconnects"
 * - gateway: client/faults_test.ts "huge-body: an answer above the limit is rejected, with a length or in chunks"
 * - direct: transports/direct_link_test.ts "a damaged answer ends the connection with a typed error"
 * - direct: transports/fault_restart_test.ts "a platform that restarts with other keys causes a typed error, and few attempts"
 *
 * F06 killed between intent and answer
 * - memory: none: a journal of intents is not a transport's; the day book's own is in day_book/kill_test.ts
 * - gateway: none: as above, a transport keeps nothing that a kill could tear
 * - direct: transports/direct_lease_test.ts "takeLease() takes over from a process that was killed"
 *
 * F07 a torn record, an error of fsync, a full disk
 * - memory: none: the store of the runner is the same over each way
 * - gateway: runner/fault_store_test.ts "F07: a journal cut at any byte after a kill during a write either contains the write or is rejected"
 * - gateway: runner/fault_store_test.ts "F07: a write is not sent when the mark cannot be synced"
 * - gateway: runner/fault_store_test.ts "F07: with a full disk no write is sent, the store can be read, and no complete data is lost"
 * - direct: none: as above, the store knows no transport
 *
 * F08 to F12 are about orders whose outcome is unknown. What is shown here is that the lists which the error names tell
 * the outcome, and that nothing is sent again. Matching an intent to its orders by itself comes with the order desk.
 *
 * F08 an order that fills before the first look
 * - all: conformance/lost_orders_test.ts "an order that fills before the first look is in no list of open orders, and is found"
 * - all: conformance/lost_orders_test.ts "a conditional order whose answer was lost is in its own list, and not among today's orders"
 *
 * F09 an order that the broker splits, a part of which is gone. Telling a part that was rejected from one that a person
 * cancelled is left to the order desk.
 * - all: conformance/lost_orders_test.ts "an order that the broker splits is found as the sum of its parts, and a part that is gone is missed"
 *
 * F10 an amendment that is lost and leaves the old and the new order
 * - memory: none: what the step does is the same over each way, and is shown over the gateway
 * - gateway: recipes/lost_cancels_test.ts "an amendment whose answer is lost and that leaves two orders: both are found and both are cancelled"
 * - direct: none: as above, the step knows no transport
 *
 * F11 a cancellation that races a fill, or comes for an order that is over
 * - memory: none: what the step does is the same over each way, and is shown over the gateway
 * - gateway: recipes/lost_cancels_test.ts "a cancellation that arrives after the fill: the list shows it, and it is sent once"
 * - gateway: recipes/lost_cancels_test.ts "a cancellation whose answer is lost stays unknown until a list shows that the order has ended"
 * - direct: none: as above, the step knows no transport
 *
 * F12 a batch cancel that times out with 60 of 100 done
 * - memory: none: what the step does is the same over each way, and is shown over the gateway
 * - gateway: recipes/lost_cancels_test.ts "a batch cancel that times out after 60 of 100: only the remaining orders are cancelled"
 * - gateway: transports/outcome_test.ts "a batch cancel leaves unresolved what its answer does not mention"
 * - direct: none: the message of the batch cancel is not published
 *
 * F13 login lost in a batch, a page walk, a login, under 100 callers
 * - all: conformance/login_test.ts "a lost login during 100 reads: all are answered after one new login"
 * - all: conformance/login_test.ts "a lost login while reading pages: every row is returned once"
 * - all: conformance/login_test.ts "a login that is lost during the login call throws an error, without a loop"
 * - all: conformance/login_test.ts "a write with a lost login fails and is not repeated"
 * - direct: transports/direct_session_test.ts "one login serves 100 calls whose token expires in the middle"
 *
 * F14 displaced login, second connection, trade login gone while the token is good
 * - all: conformance/login_test.ts "a login taken over throws a DisplacedError, and the client does not log in again"
 * - direct: transports/direct_session_test.ts "a displaced login is never fought over"
 * - direct: transports/direct_session_test.ts "a trade connection that another program has taken over is not reopened"
 * - direct: transports/direct_session_test.ts "an expired trade login is renewed without a new token"
 * - direct: transports/direct_lease_test.ts "a second client of the account is stopped before it takes the connection away"
 *
 * F15 half-open: the far end stands still with its sockets open
 * - memory: none: there is no far end; an endpoint that never answers is conformance/limits_test.ts's timeout
 * - gateway: transports/fault_half_open_test.ts "a stopped gateway: a read times out, a write has an unknown outcome and exists at most once"
 * - gateway: transports/fault_half_open_test.ts "a push port that is stopped is noticed by its silence, where a limit is set"
 * - gateway: client/silent_push_test.ts "connect() replaces a silent push connection, reports the gap, and receives order pushes again"
 * - direct: transports/fault_half_open_test.ts "a stopped platform: the probe rejects a write before it is sent, and the link is opened again"
 * - direct: transports/fault_half_open_test.ts "a platform that is stopped under an idle link is noticed after three silent intervals"
 *
 * F16 event loop blocked for three intervals
 * - memory: none: nothing beats there
 * - gateway: transports/fault_half_open_test.ts "an event loop that is blocked loses no push of the gateway: they wait in the socket"
 * - direct: transports/fault_half_open_test.ts "an event loop that is blocked for three intervals keeps the link when the platform does"
 * - direct: transports/fault_half_open_test.ts "an event loop that is blocked for longer than the platform waits: a clean new beginning"
 *
 * F17 the far end restarts
 * - memory: none: an endpoint has no process; a line that ends is conformance/pushes_test.ts's cut stream
 * - gateway: transports/fault_restart_test.ts "a restarted gateway: one login, a gap, restored subscriptions, and the lists show the fill"
 * - gateway: transports/fault_restart_test.ts "a write that is the first thing after a restart is reported over the gateway, and not repeated"
 * - direct: transports/fault_restart_test.ts "a restarted platform: a new token and session, one trade login, and the lists show the fill"
 *
 * F18 one fill withheld while everything else goes on. No transport can notice it, as pushes bear no numbers: what
 * the toolkit offers today is the lists, which whoever keeps books has to ask now and then.
 * - all: conformance/pushes_test.ts "a fill whose push was withheld is in the lists"
 *
 * F19 pushes twice, in another order, before the answer
 * - all: conformance/pushes_test.ts "repeated or reordered pushes change nothing at the broker"
 * - all: conformance/pushes_test.ts "a push may come before the answer to its order, with the number that the answer gives"
 *
 * F20 pages: rows come in, a page is missing, cut short or repeated, cursors run wrong, midnight passes
 * - all: conformance/paging_test.ts "a list is read whole from short pages, and not taken for whole with a page missing"
 * - all: conformance/paging_test.ts "a list that grows at its beginning gives each row once"
 * - all: conformance/paging_test.ts "a repeated, decreasing or missing cursor ends the reading with an error"
 * - all: conformance/paging_test.ts "a page that is rejected as busy is requested again, and each row is returned once"
 * - gateway: client/paging_test.ts "a list that starts again at midnight during the reading is detected"
 * - gateway: client/paging_test.ts "rows added at the start of a list are detected, and identical rows are not mistaken for them"
 * - gateway: client/paging_test.ts "alternating pages are detected at the third one, by cursor and by number"
 * - gateway: day_book/whole_lists_test.ts "exportDayBook() calls today's list incomplete if its day changed between two pages"
 * - gateway: day_book/whole_lists_test.ts "exportDayBook() calls today's list incomplete if it is emptied during the reading"
 *
 * F23 killed between the sells and the buys of a rebalance. Planning the legs anew that were not sent comes with the
 * order desk.
 * - memory: none: the runner takes a run over in the same way over each transport
 * - gateway: runner/fault_store_test.ts "F23: a run killed between sells and buys repeats neither and reports it; the next day runs completely"
 * - direct: none: as above, the store knows no transport
 *
 * F25 the day book before clearing, after it, again, and with two identical lines
 * - memory: day_book/transports_test.ts "exportDayBook() writes the same bytes of a provisional day over every transport"
 * - gateway: day_book/whole_lists_test.ts "exportDayBook() of an evening: before clearing, after it, and again, with two identical lines"
 * - gateway: day_book/simulated_test.ts "exportDayBook() marks the running day, and makes it final once its fees have arrived"
 * - direct: day_book/transports_test.ts "exportDayBook() writes the same bytes of final days over every transport"
 *
 * F27 the broker is busy, or answers 503, with twenty callers
 * - all: conformance/load_test.ts "an order is answered while twenty slow reads are in progress"
 * - all: conformance/load_test.ts "twenty readers of a busy broker try three times each, and an order among them is sent once"
 * - gateway: conformance/load_test.ts "twenty readers of a gateway that answers 503 try three times each, and get through afterwards"
 *
 * F29 a reader that stops while quotes and orders come
 * - all: conformance/load_test.ts "a reader that stops loses no order, and finds the newest quotes behind those that waited"
 * - gateway: transports/push_test.ts "a stopped reader loses no order, and the newest quotes, in flat memory"
 * - gateway: transports/push_test.ts "a fast reader gets every quote, however fast they arrive"
 *
 * F30 a notebook's kernel that is killed while it watches and trades. Which intents were under way comes with the order
 * desk; until then the lists that an error names tell.
 * - memory: none: the broker would end with the process
 * - gateway: client/killed_watch_test.ts "F30: after a kernel was killed during a watch, the next one watches again with one call, and sees its order"
 * - direct: transports/direct_lease_test.ts "takeLease() takes over from a process that was killed"
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";

interface Row {
  fault: string;
  transport: string;
  /** File and name of a test, or a reason in the place of one. */
  test?: { file: string; name: string };
}

function rowsOf(comment: string): Row[] {
  const rows: Row[] = [];
  let fault = "";
  for (const line of comment.split("\n")) {
    fault = /^ \* (F\d\d) /.exec(line)?.[1] ?? fault;
    const [, transport, rest = ""] = /^ \* - (\w+): (.*)$/.exec(line) ?? [];
    if (transport === undefined) continue;
    const [, file, name] = /^(\S+) "(.*)"$/.exec(rest) ?? [];
    assert(file !== undefined || /^none: \w+ \w+/.test(rest), `${fault} ${transport}: no test and no reason`);
    rows.push({ fault, transport, ...file !== undefined && name !== undefined && { test: { file, name } } });
  }
  return rows;
}

Deno.test("the table of faults names a test or a reason for each transport, and the tests are there", async () => {
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
    "F23",
    "F25",
    "F27",
    "F29",
    "F30",
  ];
  assertEquals([...new Set(rows.map(({ fault }) => fault))], expected);
  for (const fault of expected) {
    const named = new Set(rows.filter((row) => row.fault === fault).map(({ transport }) => transport));
    for (const transport of ["memory", "gateway", "direct"]) {
      assert(named.has("all") || named.has(transport), `${fault} says nothing about ${transport}`);
    }
  }
  const sources = new Map<string, string>();
  for (const { fault, test } of rows) {
    if (test === undefined) continue;
    const text = sources.get(test.file) ??
      await Deno.readTextFile(new URL(`../${test.file}`, import.meta.url));
    sources.set(test.file, text);
    const called = text.replaceAll(/\(\s+"/g, '("');
    assert(called.includes(`("${test.name}"`), `${fault}: ${test.file} has no test "${test.name}"`);
  }
});
