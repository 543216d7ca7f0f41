/**
 * A long list of rows in order of days, read page by page.
 *
 * The rows of the past are held elsewhere in compact form and written when a page needs them; the days that are
 * cleared later are appended. A row's cursor is its place in the whole list, counted from 1, so the page after a
 * cursor is found without counting, and days by binary search.
 *
 * @module
 */

/** What a page is asked for. */
export interface PageQuery {
  /** First day, `yyyy-MM-dd`. */
  from: string;
  /** Last day. */
  to: string;
  /** Cursor of the last row of the page before, zero at first. */
  after?: number;
  limit?: number;
}

/** Rows in order of days. */
export class DayList<Row extends object> {
  readonly #dates: string[];
  readonly #starts: number[];
  readonly #held: number;
  readonly #write: ((index: number) => Row) | undefined;
  readonly #added: Row[] = [];

  /**
   * @param days Date and number of rows of each day that is held elsewhere, in order.
   * @param write Writes one of those rows; needed where there are any.
   */
  constructor(days: readonly { date: string; count: number }[] = [], write?: (index: number) => Row) {
    this.#dates = days.map(({ date }) => date);
    this.#starts = [];
    let start = 0;
    for (const { count } of days) {
      this.#starts.push(start);
      start += count;
    }
    this.#held = start;
    this.#write = write;
  }

  /** Rows in all. */
  get length(): number {
    return this.#held + this.#added.length;
  }

  /** Appends the rows of a day that is later than all others. */
  append(date: string, rows: readonly Row[]): void {
    this.#dates.push(date);
    this.#starts.push(this.length);
    for (const row of rows) this.#added.push(row);
  }

  /** Returns a row by its place, counted from 0. */
  at(index: number): Row {
    const row = index < this.#held ? this.#write?.(index) : this.#added[index - this.#held];
    if (row === undefined) throw new RangeError(`Cannot find row ${index}: the list has ${this.length}`);
    return row;
  }

  /** Returns the places of the rows of some days: the first, and the one after the last. */
  range(from: string, to: string): { start: number; end: number } {
    return { start: this.#startOf(from, false), end: this.#startOf(to, true) };
  }

  /** Returns the rows after a cursor within some days, each with its own cursor. */
  page({ from, to, after = 0, limit = 20 }: PageQuery): (Row & { cursor: string })[] {
    const { start, end } = this.range(from, to);
    return this.slice(Math.max(start, after), end, limit);
  }

  /** Returns at most `limit` rows from one place up to another. */
  slice(start: number, end: number, limit: number): (Row & { cursor: string })[] {
    const rows = [];
    for (let index = start; index < end && rows.length < limit; index++) {
      rows.push({ ...this.at(index), cursor: String(index + 1) });
    }
    return rows;
  }

  /** Where the first day not before a date starts, or with `past` the first day after it. */
  #startOf(date: string, past: boolean): number {
    let [low, high] = [0, this.#dates.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const held = this.#dates[middle] ?? "";
      if (held < date || (past && held === date)) low = middle + 1;
      else high = middle;
    }
    return this.#starts[low] ?? this.length;
  }
}
