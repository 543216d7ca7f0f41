/**
 * Stores a long list of rows by day, and returns it page by page.
 *
 * The rows of the generated past are stored elsewhere in compact form. When a page needs such a row, the list calls
 * `makeRow`, which returns it. Days that the broker clears after the generated past are appended. A row's cursor is its
 * position in the whole list, from 1. So the list finds the row after a cursor without counting rows. It finds a day by
 * binary search.
 *
 * @module
 */

/** Parameters of a page. */
interface PageQuery {
  /** First day, `yyyy-MM-dd`. */
  from: string;
  /** Last day. */
  to: string;
  /** Cursor of the last row of the previous page; zero for the first page. */
  after?: number;
  limit?: number;
}

/** Rows sorted by day. */
export class DayList<Row extends object> {
  readonly #dates: string[];
  readonly #starts: number[];
  readonly #startLength: number;
  readonly #makeRow: ((index: number) => Row) | undefined;
  readonly #added: Row[] = [];

  /**
   * @param days Date and number of rows of each day that is stored elsewhere, in order.
   * @param makeRow Returns one of the rows that are stored elsewhere; required if there are such rows.
   */
  constructor(days: readonly { date: string; count: number }[] = [], makeRow?: (index: number) => Row) {
    this.#dates = days.map(({ date }) => date);
    this.#starts = [];
    let start = 0;
    for (const { count } of days) {
      this.#starts.push(start);
      start += count;
    }
    this.#startLength = start;
    this.#makeRow = makeRow;
  }

  /** Number of all rows. */
  get length(): number {
    return this.#startLength + this.#added.length;
  }

  /** Appends the rows of a day that is later than all days of the list. */
  append(date: string, rows: readonly Row[]): void {
    this.#dates.push(date);
    this.#starts.push(this.length);
    for (const row of rows) this.#added.push(row);
  }

  /** Returns a row by its position, from 0. */
  at(index: number): Row {
    const row = index < this.#startLength ? this.#makeRow?.(index) : this.#added[index - this.#startLength];
    if (row === undefined) throw new RangeError(`Cannot find row ${index}: the list has ${this.length} rows`);
    return row;
  }

  /** Returns the position of the first row of a range of days, and the position after its last row. */
  range(from: string, to: string): { start: number; end: number } {
    return { start: this.#startOf(from, false), end: this.#startOf(to, true) };
  }

  /** Returns a page of the rows of a range of days. The page begins after a cursor, and each row has its own cursor. */
  page({ from, to, after = 0, limit = 20 }: PageQuery): (Row & { cursor: string })[] {
    const { start, end } = this.range(from, to);
    return this.slice(Math.max(start, after), end, limit);
  }

  /** Returns at most `limit` rows between two positions. */
  slice(start: number, end: number, limit: number): (Row & { cursor: string })[] {
    const rows = [];
    for (let index = start; index < end && rows.length < limit; index++) {
      rows.push({ ...this.at(index), cursor: String(index + 1) });
    }
    return rows;
  }

  /** Returns the position of the first row on or after a date; with `past`, of the first row after the date. */
  #startOf(date: string, past: boolean): number {
    let [low, high] = [0, this.#dates.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.#dates[middle] ?? "";
      if (found < date || (past && found === date)) low = middle + 1;
      else high = middle;
    }
    return this.#starts[low] ?? this.length;
  }
}
