/**
 * Walks through the pages of one list: by the cursors of its rows, or by page numbers.
 *
 * A walk ends only where the broker has shown that nothing follows. The broker's rule is that a short page is the
 * last one; a server with smaller pages of its own looks the same, and so does a server that lost the rest. So a walk
 * by cursor asks once more, from the row before the last: the last row must come again, and nothing behind it. The
 * answer is never empty then, so an empty answer, `null`, and a list that began anew at midnight are all noticed.
 *
 * @module
 */
import {
  BusyError,
  DisplacedError,
  LoginExpiredError,
  ProtocolError,
  RejectedError,
  UnmappedError,
} from "../errors.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { isListMissing, LIST_LEFT_OUT } from "../operations/wire_rows.ts";
import type { Page } from "./paging.ts";
import { type RowKey, SeenRows } from "./seen_rows.ts";

/** Returns whether an answer came without the list that it promises: `null`, or nothing. */
export function isNoAnswer(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && error.code === "no-answer";
}

/** What a walk is made with. */
export interface Walk {
  operation: AnyOperation;
  /** Parameters of the first page, with the rows per page. */
  params: Readonly<Record<string, unknown>>;
  /** Most pages to ask for. */
  maxPages: number;
  /** Asks for one page. */
  ask: (params: Record<string, unknown>) => Promise<unknown>;
  /** Told why the end is not proven: the broker's rule says that nothing follows, and nothing else does. */
  onUnproven: (reason: string) => void;
}

/** Code of the error when rows came in or went while the list was read; reading it again helps. */
export const LIST_CHANGED = "list-changed";
/** Code of the error when rows that came are gone: what is read again is another list. */
export const LIST_EMPTIED = "list-emptied";

/** An answer, read as a page. */
interface Answer<Row> {
  rows: Row[];
  /** The broker sent a list, though it may be empty. */
  hasList: boolean;
  /** Number that the answer gives itself; 0 without. */
  page: number;
  /** Number of pages that the answer tells. */
  total: number | undefined;
  /** The answer says that it is the last page. */
  isMarked: boolean;
}

/** A page that came, for finding its rows in another reading. */
interface Read {
  /** What was asked for. */
  asked: Record<string, unknown>;
  keys: readonly RowKey[];
  cursors: readonly (string | undefined)[];
}

/** Walks page by page. */
export function walkPages<Row>(walk: Walk): AsyncIterable<Page<Row>> {
  return walk.operation.paging?.style === "cursor"
    ? new CursorWalk<Row>(walk).pages()
    : new NumberWalk<Row>(walk).pages();
}

abstract class PageWalk<Row> {
  protected readonly walk: Walk;
  protected readonly limit: number;
  protected readonly seen: SeenRows;
  /** The last page with rows. */
  protected last: Read | undefined;

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
      // Behind rows that came, some servers send nothing in the place of an empty list. At the start it is an error.
      if (this.last === undefined || !isNoAnswer(error)) throw error;
      return { rows: [], hasList: false, page: 0, total: undefined, isMarked: false };
    }
    const hasList = !isListMissing(answer);
    // Lists come bare, or with counters beside them, as the operation's answer type says.
    if (Array.isArray(answer)) return { rows: answer, hasList, page: 0, total: undefined, isMarked: false };
    const { rows, page = 0, totalPages, isLast } = answer;
    // A member at zero is left out by some servers, so zero says nothing.
    const total = this.walk.operation.paging?.last === "total" ? Number(totalPages) || undefined : undefined;
    return { rows, hasList, page, total, isMarked: isLast === true };
  }

  /** As `ask`; a refusal is noted as the reason why the end is not proven. */
  protected async askBehind(asked: Record<string, unknown>): Promise<Answer<Row> | undefined> {
    try {
      return await this.ask(asked);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.walk.onUnproven(`the broker refused to say whether more follow (${error.message})`);
      return undefined;
    }
  }

  /** Checks a page against those before, and remembers it. */
  protected async take(rows: readonly Row[], number: number, read: Omit<Read, "keys">, isAnchored = false) {
    if (rows.length === 0) return;
    const keys = this.seen.keysOf(rows);
    const before = this.last;
    const isDoubtful = before !== undefined && !isAnchored && this.seen.has(keys[0]!);
    const isRepeated = this.seen.add(keys);
    if (isRepeated) this.fault("page-repeated", `page ${number} has the rows of an earlier page`);
    // A row that comes again is another one like it, or the rows have moved: the page before shows which.
    if (isDoubtful && !await this.#isUnmoved(before)) {
      this.fault(
        LIST_CHANGED,
        `rows came in or went while it was read, as page ${number} begins with a row of an earlier page`,
      );
    }
    this.last = { ...read, keys };
  }

  /** Asks for a page again; resolves to whether most of its rows are where they were. */
  async #isUnmoved({ asked, keys, cursors }: Read): Promise<boolean> {
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

/** What follows a page that may be the last. */
interface Follows<Row> {
  rows: Row[];
  asked: Record<string, unknown>;
  /** The rows follow the last row without doubt. */
  isAnchored: boolean;
}

class CursorWalk<Row> extends PageWalk<Row> {
  /** Cursors that cannot be ordered, as they are no numbers. */
  readonly #cursors = new Set<string>();
  /** The last two rows that came. */
  #tail: Row[] = [];
  /** Most rows on one page. */
  #largest = 0;
  /** A short page came, and rows behind it: the server has smaller pages than it is asked for. */
  #isCapped = false;
  #cursor = "0";

  async *pages(): AsyncGenerator<Page<Row>> {
    const { params, operation } = this.walk;
    if (typeof params.cursor === "string") this.#cursor = params.cursor;
    const isWhole = operation.paging?.wholeWith !== undefined &&
      params[operation.paging.wholeWith] !== undefined;
    let asked: Record<string, unknown> = { cursor: this.#cursor };
    let [{ rows, hasList }, isAnchored] = [await this.ask(asked), false];
    for (let number = 1;; number++) {
      if (rows.length === 0 && !hasList && number === 1) this.walk.onUnproven(LIST_LEFT_OUT);
      if (isWhole) return yield { rows, number, isLast: true };
      this.#checkCursors(rows);
      await this.take(rows, number, { asked, cursors: rows.map(cursorOf) }, isAnchored);
      this.#tail = [...this.#tail, ...rows].slice(-2);
      this.#largest = Math.max(this.#largest, rows.length);
      const isFull = rows.length >= this.limit;
      const follows = isFull
        ? undefined
        : await this.#whatFollows(rows.length > 0 ? undefined : { number, hasList });
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
   * Resolves to what follows the last row; `undefined` where nothing does.
   *
   * @param empty The page that was asked for behind the last row and came without rows.
   */
  async #whatFollows(empty: { number: number; hasList: boolean } | undefined): Promise<
    Follows<Row> | undefined
  > {
    const [before, last] = this.#tail.length === 2 ? this.#tail : [undefined, ...this.#tail];
    if (last === undefined) return undefined;
    const cursor = cursorOf(last);
    if (cursor === undefined) {
      this.walk.onUnproven("its last row has no cursor to ask for more");
      return undefined;
    }
    const missing = (more: string) =>
      this.fault("page-missing", `page ${empty?.number ?? "behind the last"} came without ${more}`);
    const from = cursorOf(before);
    // A server with one row on a page would show one row here, whatever follows.
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
    const behind = empty === undefined ? await this.askBehind(asked) : { rows: [], ...empty };
    if (behind === undefined) return undefined;
    if (behind.rows.length > 0) return { rows: behind.rows, asked, isAnchored: false };
    // Some servers send nothing in the place of an empty list: alone that proves nothing.
    if (!behind.hasList && (isOverlapped || this.#isCapped)) missing("a list");
    if (isOverlapped && !await this.#isStillThere(last)) {
      this.fault(LIST_EMPTIED, "its last row is gone, so the list began anew while it was read");
    }
    return undefined;
  }

  /** Rows of an answer; `undefined` when the broker refuses it. */
  async #rowsOf(asked: Record<string, unknown>): Promise<Row[] | undefined> {
    try {
      return (await this.ask(asked)).rows;
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  /** Asks for the last page again. */
  async #isStillThere(row: Row): Promise<boolean> {
    const { rows } = await this.ask(this.last!.asked);
    return rows.some((each) => this.#isSame(each, row));
  }

  #isSame(one: Row | undefined, other: Row): boolean {
    if (one === undefined || cursorOf(one) !== cursorOf(other)) return false;
    const [a, b] = this.seen.keysOf([one, other]);
    return a === b;
  }

  /** Rows stand in rising order of their cursors; a row that does not move on was given before. */
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
    // Only texts that cannot be ordered need remembering; numbers that rise cannot repeat.
    if (!isWhole(previous)) { for (const row of rows) this.#cursors.add(cursorOf(row) ?? ""); }
  }
}

const isWhole = (cursor: string) => /^\d+$/.test(cursor);

function isBefore(cursor: string, previous: string): boolean {
  if (!isWhole(cursor) || !isWhole(previous)) return false;
  return cursor.length === previous.length ? cursor < previous : cursor.length < previous.length;
}

function cursorOf(row: unknown): string | undefined {
  const cursor = typeof row === "object" && row !== null ? (row as { cursor?: unknown }).cursor : undefined;
  return typeof cursor === "string" ? cursor : undefined;
}

class NumberWalk<Row> extends PageWalk<Row> {
  /** Most pages that an answer spoke of. */
  #total: number | undefined;
  /** A page before the last one was shorter than asked for. */
  #isCapped = false;
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
        : await this.askBehind(next);
      if (end === "unknown") {
        const isLast = following === undefined || this.#isBehind(following, wanted + 1);
        yield { rows, number, isLast };
        if (isLast) return;
        this.#isCapped = true;
      }
      answer = following!; // only a page behind the last one may be refused
    }
  }

  async #check({ rows, page, total }: Answer<Row>, wanted: number, number: number): Promise<void> {
    if (page !== 0 && page !== wanted) {
      this.fault("page-repeated", `page ${wanted} was asked for and page ${page} came`);
    }
    if (page === 0) {
      // The answer does not say which page it is, so its content has to.
      const content = JSON.stringify(rows);
      if (rows.length > 0 && content === this.#before) {
        this.fault("page-repeated", `page ${wanted} is the one before`);
      }
      this.#before = content;
    }
    if (total !== undefined && this.#total !== undefined && total < this.#total) {
      this.fault(LIST_CHANGED, `it has ${total} pages now and had ${this.#total} before`);
    }
    this.#total = total ?? this.#total;
    await this.take(rows, number, { asked: { page: wanted }, cursors: rows.map(() => undefined) });
  }

  /** What an answer says about the end of its list. */
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
    // Short pages before the last one are those of a server that counts its pages in another way.
    if (this.#total !== undefined && !this.#isCapped) {
      if (wanted >= this.#total) return "last";
      this.#isCapped = isShort;
      return "more";
    }
    return isShort ? "unknown" : "more";
  }

  /** Returns whether an answer shows that the short page before it was the last. */
  #isBehind({ rows, hasList }: Answer<Row>, wanted: number): boolean {
    if (rows.length > 0) return false;
    if (!hasList && this.#isCapped) this.fault("page-missing", `page ${wanted} came without a list`);
    return true;
  }
}

/** Returns whether the broker refused for good: not for a missing login, and not because it is busy. */
export function isRefusal(error: unknown): error is RejectedError | UnmappedError {
  const isPassing = [LoginExpiredError, DisplacedError, BusyError].some((kind) => error instanceof kind);
  return error instanceof UnmappedError || (error instanceof RejectedError && !isPassing);
}
