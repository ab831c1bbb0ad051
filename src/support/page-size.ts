// Limits a page by characters as well as by items, because an item may be as large as a request.
// The page then ends early, and the reader continues there.

const CHARS_MAX = 4 * 1024 * 1024;

/** Measures the content of one page. */
class PageSize {
  readonly #max: number;
  #left: number;

  constructor(max: number = CHARS_MAX) {
    this.#max = max;
    this.#left = max;
  }

  /** False when the page is full. One item always fits. */
  takes(chars: number): boolean {
    const isFirst = this.#left === this.#max;
    if (chars > this.#left && !isFirst) return false;
    this.#left -= chars;
    return true;
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  /** The number of items to read next: few if they are large, so that little is read in vain. */
  next(read: number): number {
    if (read === 0) return FIRST;
    const average = Math.max(1, (this.#max - this.#left) / read);
    return Math.max(1, Math.min(NEXT_MAX, Math.floor(this.#left / average)));
  }
}

/** The rows of one part stay few, because large ones may follow small ones. */
const FIRST = 64;
const NEXT_MAX = FIRST;

export interface Cut<Item> {
  readonly items: readonly Item[];
  /** The page ended early: more items remain within the requested limit. */
  readonly isCut: boolean;
}

/** Opens each item in turn, so that no more is opened than fits. */
export async function openedWithin<Row, Item>(
  rows: readonly Row[],
  open: (row: Row) => Promise<Item>,
): Promise<Cut<Item>> {
  const size = new PageSize();
  const items: Item[] = [];
  for (const row of rows) {
    if (size.isFull) return { items, isCut: true };
    const item = await open(row);
    if (!size.takes(JSON.stringify(item).length)) return { items, isCut: true };
    items.push(item);
  }
  return { items, isCut: false };
}

/** Adds a cursor if more may follow. */
export function cursorPage<Item extends object>(
  items: readonly Item[],
  { limit, isCut = false }: { readonly limit: number; readonly isCut?: boolean },
  cursorOf: (last: Item) => string,
): { readonly items: readonly Item[]; readonly cursor?: string } {
  const last = isCut || items.length === limit ? items.at(-1) : undefined;
  return { items, ...(last && { cursor: cursorOf(last) }) };
}

interface PageQuery<Id extends string> {
  readonly limit: number;
  readonly downTo?: Id;
}

interface FilteredPage<Item, Id extends string> {
  readonly items: readonly Item[];
  readonly cursor?: Id;
}

/** Reads a page of a list whose store checks filters row by row. The page may end at its edge. */
export async function filteredPage<Item, Id extends string, Query extends PageQuery<Id>>(
  query: Query,
  reads: {
    readonly edge: (query: Query) => Promise<Id | undefined>;
    readonly list: (query: Query) => Promise<readonly Item[]>;
    readonly idOf: (item: Item) => Id;
  },
): Promise<FilteredPage<Item, Id>> {
  const edge = await reads.edge(query);
  // Below the range of the query, nothing follows.
  const downTo =
    query.downTo !== undefined && edge !== undefined && edge < query.downTo ? undefined : edge;
  const items = await reads.list(downTo === undefined ? query : { ...query, downTo });
  const last = items.at(-1);
  const isFull = items.length >= query.limit && last !== undefined;
  const cursor = isFull ? reads.idOf(last) : downTo;
  return { items, ...(cursor === undefined ? {} : { cursor }) };
}

/** Reads a whole list, page by page; `read` gets the last item of the previous page. */
export async function readAll<Item>(
  limit: number,
  read: (last: Item | undefined) => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (;;) {
    const page = await read(all.at(-1));
    all.push(...page);
    if (page.length < limit) return all;
  }
}

interface RowReading<Row> {
  readonly placeOf: (row: Row) => number;
  readonly charsOf: (row: Row) => number;
}

/** Reads the first rows that fit. Asks for their sizes first, so that none is read in vain. */
export async function sizedWithin<Page extends { readonly limit: number }, Row>(
  page: Page,
  reads: {
    readonly sizes: (page: Page) => Promise<readonly number[]>;
    readonly rows: (page: Page) => Promise<readonly Row[]>;
  },
): Promise<Cut<Row>> {
  const sizes = await reads.sizes(page);
  const limit = fittingIn(sizes);
  const items = limit === 0 ? [] : await reads.rows({ ...page, limit });
  return { items, isCut: limit < sizes.length };
}

/** How many of the first items fit into one page. */
export function fittingIn(sizes: readonly number[], max?: number): number {
  const size = new PageSize(max);
  const cut = sizes.findIndex((each) => !size.takes(each));
  return cut === -1 ? sizes.length : cut;
}

/** Reads rows after a position, in parts. */
export async function readWithin<Row>(
  { after, limit }: { readonly after: number; readonly limit: number },
  read: (part: { readonly after: number; readonly limit: number }) => Promise<readonly Row[]>,
  { placeOf, charsOf }: RowReading<Row>,
): Promise<Cut<Row>> {
  const size = new PageSize();
  const items: Row[] = [];
  for (let at = after; items.length < limit; ) {
    const part = { after: at, limit: Math.min(size.next(items.length), limit - items.length) };
    const rows = await read(part);
    for (const row of rows) {
      if (!size.takes(charsOf(row))) return { items, isCut: true };
      items.push(row);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < part.limit) break;
    at = placeOf(last);
    if (size.isFull && items.length < limit) return { items, isCut: true };
  }
  return { items, isCut: false };
}
