/**
 * Reads the pages of one list, by the cursors of its rows or by page numbers.
 *
 * Reading ends when the broker has shown that nothing follows. If the broker cannot show this, the walk reports that
 * the end is unproven. By the broker's rule, a short page is the last page. But a server with a smaller page size also
 * sends short pages, and so does a server that lost rows. So after a short page, a walk by cursor queries again from
 * the second-to-last row. If the list is complete, the answer contains exactly the last row. An empty answer, `null`
 * and a list that started again at midnight differ from that, so the walk detects them.
 *
 * @module
 */
import { isRefusal, ProtocolError } from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { isListMissing, LIST_LEFT_OUT } from "../operations/wire_rows.ts";
import { type RowKey, SeenRows } from "./seen_rows.ts";

/** One page of a list. */
export interface Page<Row> {
  /** Rows of this page, in the broker's order. */
  rows: Row[];
  /** Number of this page, from 1. */
  number: number;
  /** Whether it is the last page. */
  isLast: boolean;
}

/** Returns whether an error means that an answer, or the list in it, is `null` or absent. */
export function isNoAnswer(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && error.code === "no-answer";
}

/** Options of a walk. */
interface Walk {
  operation: AnyOperation;
  /** Parameters of the first page, including the number of rows per page. */
  params: Readonly<Record<string, unknown>>;
  /** Maximum number of pages to request. */
  maxPages: number;
  /** Requests one page. */
  ask: (params: Record<string, unknown>) => Promise<unknown>;
  /**
   * Called with the reason if the end is unproven. Either the first answer had no list. Or the walk could not request
   * further rows, and only the broker's rule for short pages shows that nothing follows.
   */
  onUnproven: (reason: string) => void;
}

/** Error code if rows were added or removed while the list was read. Read the list again. */
export const LIST_CHANGED = "list-changed";
/** Error code if rows already read are gone. Reading again would return a different list. */
export const LIST_EMPTIED = "list-emptied";

/** An answer, decoded as a page. */
interface Answer<Row> {
  rows: Row[];
  /** Whether the broker sent a list, even an empty one. */
  hasList: boolean;
  /** Page number in the answer; 0 if it has none. */
  page: number;
  /** Number of pages according to the answer. */
  total: number | undefined;
  /** Whether the answer is marked as the last page. */
  isMarked: boolean;
}

/** A page already read, kept to compare with a second request for the same page. */
interface ReadPage {
  /** The parameters of the request. */
  asked: Record<string, unknown>;
  keys: readonly RowKey[];
  cursors: readonly (string | undefined)[];
}

/** Returns the pages of a list. */
export function walkPages<Row>(walk: Walk): AsyncIterable<Page<Row>> {
  return walk.operation.paging?.style === "cursor"
    ? new CursorWalk<Row>(walk).pages()
    : new NumberWalk<Row>(walk).pages();
}

abstract class PageWalk<Row> {
  protected readonly walk: Walk;
  protected readonly limit: number;
  protected readonly seen: SeenRows;
  /** The last page that had rows. */
  protected last: ReadPage | undefined;

  constructor(walk: Walk) {
    this.walk = walk;
    this.limit = Number(walk.params.limit);
    this.seen = new SeenRows(walk.operation.paging?.identity ?? []);
  }

  protected async ask(asked: Record<string, unknown>): Promise<Answer<Row>> {
    let answer: Row[] | { rows: Row[]; page?: number; totalPages?: string | number; isLast?: boolean };
    try {
      answer = await this.walk.ask({ ...this.walk.params, ...asked }) as typeof answer;
    } catch (error) {
      // After the last row, some servers send no list instead of an empty list. On the first page that is an error.
      if (this.last === undefined || !isNoAnswer(error)) throw error;
      return { rows: [], hasList: false, page: 0, total: undefined, isMarked: false };
    }
    const hasList = !isListMissing(answer);
    // Depending on the operation, the answer is the list, or an object with the list and counters.
    if (Array.isArray(answer)) return { rows: answer, hasList, page: 0, total: undefined, isMarked: false };
    const { rows, page = 0, totalPages, isLast } = answer;
    // Some servers leave out members that are zero, so treat zero as unknown.
    const total = this.walk.operation.paging?.last === "total" ? Number(totalPages) || undefined : undefined;
    return { rows, hasList, page, total, isMarked: isLast === true };
  }

  /** Like `ask`, but resolves to `undefined` if the broker rejects the query. The end of the list is then unproven. */
  protected async askForMore(asked: Record<string, unknown>): Promise<Answer<Row> | undefined> {
    try {
      return await this.ask(asked);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.walk.onUnproven(`the broker rejected the query for further rows (${error.message})`);
      return undefined;
    }
  }

  /** Checks a page against the earlier ones, and remembers it. */
  protected async take(
    rows: readonly Row[],
    number: number,
    read: Omit<ReadPage, "keys">,
    isAnchored = false,
  ) {
    if (rows.length === 0) return;
    const keys = this.seen.keysOf(rows);
    const before = this.last;
    const isDoubtful = before !== undefined && !isAnchored && this.seen.has(keys[0]!);
    const isRepeated = this.seen.add(keys);
    if (isRepeated) this.fault("page-repeated", `page ${number} has the rows of an earlier page`);
    // The first row was already read. Either the list has two identical rows, or rows have moved from page to page.
    // Requesting the earlier page again shows which.
    if (isDoubtful && !await this.#isUnmoved(before)) {
      this.fault(
        LIST_CHANGED,
        `rows were added or removed while it was read: page ${number} begins with a row of an earlier page`,
      );
    }
    this.last = { ...read, keys };
  }

  /** Requests a page again. Resolves to whether at least half of its rows are in the same place. */
  async #isUnmoved({ asked, keys, cursors }: ReadPage): Promise<boolean> {
    const { rows } = await this.ask(asked);
    const again = this.seen.keysOf(rows);
    const places = new Map(rows.map((row, index) => [cursorOf(row) ?? index, again[index]]));
    const same = keys.filter((key, index) => places.get(cursors[index] ?? index) === key);
    return same.length * 2 >= keys.length;
  }

  protected checkPageCount(number: number): void {
    const { maxPages } = this.walk;
    if (number > maxPages) this.fault("page-cap", `more than ${maxPages} pages`);
  }

  protected fault(code: string, reason: string): never {
    const { name } = this.walk.operation;
    throw new ProtocolError(`Cannot read ${name} to its end: ${reason}`, { code, operation: name });
  }
}

/** The rows after a page that may be the last one. */
interface Follows<Row> {
  rows: Row[];
  asked: Record<string, unknown>;
  /** Whether the rows certainly follow the last row. */
  isAnchored: boolean;
}

class CursorWalk<Row> extends PageWalk<Row> {
  /** Cursors that are not numbers, so they cannot be compared. */
  readonly #cursors = new Set<string>();
  /** The last two rows read. */
  #tail: Row[] = [];
  /** Size of the largest page. */
  #largest = 0;
  /** Whether rows followed a short page: the server's pages are smaller than requested. */
  #isCapped = false;
  #cursor = "0";

  async *pages(): AsyncGenerator<Page<Row>> {
    const { params, operation } = this.walk;
    if (typeof params.cursor === "string") this.#cursor = params.cursor;
    const isOnePage = operation.paging?.wholeWith !== undefined &&
      params[operation.paging.wholeWith] !== undefined;
    let asked: Record<string, unknown> = { cursor: this.#cursor };
    let [{ rows, hasList }, isAnchored] = [await this.ask(asked), false];
    for (let number = 1;; number++) {
      if (rows.length === 0 && !hasList && number === 1) this.walk.onUnproven(LIST_LEFT_OUT);
      if (isOnePage) return yield { rows, number, isLast: true };
      this.#checkCursors(rows);
      await this.take(rows, number, { asked, cursors: rows.map(cursorOf) }, isAnchored);
      this.#tail = [...this.#tail, ...rows].slice(-2);
      this.#largest = Math.max(this.#largest, rows.length);
      const isFull = rows.length >= this.limit;
      const follows = isFull
        ? undefined
        : await this.#followingRows(rows.length > 0 ? undefined : { number, hasList });
      const isLast = !isFull && follows === undefined;
      yield { rows, number, isLast };
      if (isLast) return;
      this.checkPageCount(number + 1);
      if (follows === undefined) {
        const cursor = cursorOf(this.#tail.at(-1)) ??
          this.fault("cursor-missing", "the last row of a full page has no cursor");
        asked = { cursor };
        [{ rows, hasList }, isAnchored] = [await this.ask(asked), false];
      } else {
        this.#isCapped = true;
        ({ rows, asked, isAnchored } = follows);
      }
    }
  }

  /**
   * Resolves to the rows after the last one; `undefined` if there are none. Also `undefined` if they cannot be
   * requested; then the end is unproven.
   *
   * @param empty The page after the last row, if it was requested and came without rows.
   */
  async #followingRows(empty: { number: number; hasList: boolean } | undefined): Promise<
    Follows<Row> | undefined
  > {
    const [before, last] = this.#tail.length === 2 ? this.#tail : [undefined, ...this.#tail];
    if (last === undefined) return undefined;
    const cursor = cursorOf(last);
    if (cursor === undefined) {
      this.walk.onUnproven("its last row has no cursor, so further rows cannot be requested");
      return undefined;
    }
    const missing = (more: string) =>
      this.fault(
        "page-missing",
        `${
          empty === undefined ? "the page after the last row" : `page ${empty.number}`
        } came without ${more}`,
      );
    const from = cursorOf(before);
    // If every page had only one row, the server may send one row per page. Then one row does not prove that nothing
    // follows.
    const isOverlapped = from !== undefined && this.#largest > 1;
    if (isOverlapped) {
      const asked = { cursor: from, limit: Math.max(this.limit, 2) };
      const rows = await this.#rowsOf(asked);
      if (rows !== undefined && this.#isSame(rows[0], last)) {
        if (rows.length === 1) return undefined;
        if (empty !== undefined) missing("rows, although more rows follow");
        return { rows: rows.slice(1), asked, isAnchored: true };
      }
    }
    const asked = { cursor };
    const more = empty === undefined ? await this.askForMore(asked) : { rows: [], ...empty };
    if (more === undefined) return undefined;
    if (more.rows.length > 0) return { rows: more.rows, asked, isAnchored: false };
    // Some servers send no list instead of an empty list. So a missing list is an error only if something else suggests
    // that rows follow. There are two such signs: the query from the second-to-last row did not return the last row
    // first, or rows followed an earlier short page.
    if (!more.hasList && (isOverlapped || this.#isCapped)) missing("a list");
    if (isOverlapped && !await this.#isStillThere(last)) {
      this.fault(LIST_EMPTIED, "its last row is gone, so the list started again while it was read");
    }
    return undefined;
  }

  /** Returns the rows of an answer, or `undefined` if the broker rejects the query. */
  async #rowsOf(asked: Record<string, unknown>): Promise<Row[] | undefined> {
    try {
      return (await this.ask(asked)).rows;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** Requests the last page again, and resolves to whether the row is still there. */
  async #isStillThere(row: Row): Promise<boolean> {
    const { rows } = await this.ask(this.last!.asked);
    return rows.some((each) => this.#isSame(each, row));
  }

  #isSame(one: Row | undefined, other: Row): boolean {
    if (one === undefined || cursorOf(one) !== cursorOf(other)) return false;
    const [a, b] = this.seen.keysOf([one, other]);
    return a === b;
  }

  /** Checks that cursors rise. A row with a lower or equal cursor was already read. */
  #checkCursors(rows: readonly Row[]): void {
    let previous = cursorOf(this.#tail.at(-1)) ?? this.#cursor;
    for (const row of rows) {
      const cursor = cursorOf(row);
      if (cursor === undefined) continue;
      if (this.#cursors.has(cursor) || cursor === previous) {
        this.fault("cursor-repeated", `cursor "${cursor}" came twice`);
      }
      if (isBefore(cursor, previous)) {
        this.fault("cursor-backwards", `cursor "${cursor}" came after "${previous}"`);
      }
      previous = cursor;
    }
    // Remember only cursors that are not numbers; rising numbers cannot repeat.
    if (!isNumeric(previous)) { for (const row of rows) this.#cursors.add(cursorOf(row) ?? ""); }
  }
}

const isNumeric = (cursor: string) => /^\d+$/.test(cursor);

function isBefore(cursor: string, previous: string): boolean {
  if (!isNumeric(cursor) || !isNumeric(previous)) return false;
  return cursor.length === previous.length ? cursor < previous : cursor.length < previous.length;
}

function cursorOf(row: unknown): string | undefined {
  const cursor = typeof row === "object" && row !== null ? (row as { cursor?: unknown }).cursor : undefined;
  return typeof cursor === "string" ? cursor : undefined;
}

class NumberWalk<Row> extends PageWalk<Row> {
  /**
   * Total number of pages, from the last answer that contained this number. A smaller number later means that the list
   * has changed.
   */
  #total: number | undefined;
  /** Whether a page before the last one was shorter than requested. */
  #isCapped = false;
  /** Content of the previous page, if its answer had no page number. */
  #before: string | undefined;

  async *pages(): AsyncGenerator<Page<Row>> {
    const start = Number(this.walk.params.page ?? 1);
    let answer: Answer<Row> | undefined = await this.ask({ page: start });
    for (let number = 1;; number++) {
      const wanted = start + number - 1;
      const { rows } = answer;
      await this.#check(answer, wanted, number);
      const end = this.#endOf(answer, wanted, number);
      if (end !== "unknown") yield { rows, number, isLast: end === "last" };
      if (end === "last") return;
      this.checkPageCount(number + 1);
      const next = { page: wanted + 1 };
      const following: Answer<Row> | undefined = end === "more"
        ? await this.ask(next)
        : await this.askForMore(next);
      if (end === "unknown") {
        const isLast = following === undefined || this.#provesEnd(following, wanted + 1);
        yield { rows, number, isLast };
        if (isLast) return;
        this.#isCapped = true;
      }
      answer = following!; // undefined only if `askForMore` was rejected; that case returned above
    }
  }

  async #check({ rows, page, total }: Answer<Row>, wanted: number, number: number): Promise<void> {
    if (page !== 0 && page !== wanted) {
      this.fault("page-repeated", `page ${wanted} was requested but page ${page} came`);
    }
    if (page === 0) {
      // The answer has no page number, so compare its content.
      const content = JSON.stringify(rows);
      if (rows.length > 0 && content === this.#before) {
        this.fault("page-repeated", `page ${wanted} equals the page before it`);
      }
      this.#before = content;
    }
    if (total !== undefined && this.#total !== undefined && total < this.#total) {
      this.fault(LIST_CHANGED, `it now has ${total} pages but had ${this.#total} before`);
    }
    this.#total = total ?? this.#total;
    await this.take(rows, number, { asked: { page: wanted }, cursors: rows.map(() => undefined) });
  }

  /** Returns what an answer says about the end of its list. */
  #endOf(
    { rows, hasList, isMarked }: Answer<Row>,
    wanted: number,
    number: number,
  ): "last" | "more" | "unknown" {
    const { last } = this.walk.operation.paging!;
    const isShort = rows.length < this.limit;
    if (rows.length === 0) {
      if (number > 1 && this.#total !== undefined && wanted <= this.#total) {
        this.fault("page-missing", `page ${wanted} of ${this.#total} came without rows`);
      }
      if (number > 1 && !hasList) this.fault("page-missing", `page ${wanted} came without a list`);
      if (!hasList) this.walk.onUnproven(LIST_LEFT_OUT);
      return "last";
    }
    if (last === "mark" && isMarked) return "last";
    // If a page that is not the last is short, ignore the total from then on: the server may have computed it with the
    // requested page size.
    if (this.#total !== undefined && !this.#isCapped) {
      if (wanted >= this.#total) return "last";
      this.#isCapped = isShort;
      return "more";
    }
    return isShort ? "unknown" : "more";
  }

  /** Returns whether an answer shows that the short page before it was the last one. */
  #provesEnd({ rows, hasList }: Answer<Row>, wanted: number): boolean {
    if (rows.length > 0) return false;
    if (!hasList && this.#isCapped) this.fault("page-missing", `page ${wanted} came without a list`);
    return true;
  }
}
