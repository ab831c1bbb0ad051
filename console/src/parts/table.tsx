// Tables: short ones in full, long ones with only the visible rows.

import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { Pages } from '../api/reads.ts';

export interface Column<Item> {
  readonly title: string;
  /** A CSS grid width. */
  readonly width: string;
  readonly cell: (item: Item) => ReactNode;
  readonly isNumber?: boolean;
}

interface TableProps<Item> {
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
}

const ROW = 36;

export function Table<Item>(props: TableProps<Item>): ReactNode {
  const { items, keyOf } = props;
  return (
    // biome-ignore-start lint/a11y: a grid of divs with the roles of a table, so that rows can be positioned
    <div className="table-scroll" tabIndex={0} role="group" aria-label={props.label}>
      <div role="table" aria-label={props.label} className="table">
        <TableHead {...props} />
        <div role="rowgroup">
          {items.map((item) => (
            <Row key={keyOf(item)} {...props} item={item} />
          ))}
        </div>
      </div>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}

interface LongTableProps<Item> extends TableProps<Item> {
  /** The next page is loaded when the end is near. */
  readonly pages?: Pages<Item>;
}

/** Rows that arrive above the visible ones do not move them; at the top, new rows appear. */
function useStay<Item>(
  scroller: RefObject<HTMLDivElement | null>,
  { items, keyOf }: Pick<TableProps<Item>, 'items' | 'keyOf'>,
): () => void {
  const read = useRef<{ readonly key: string; readonly index: number }>(undefined);
  const note = (): void => {
    const index = Math.floor((scroller.current?.scrollTop ?? 0) / ROW);
    const item = items[index];
    read.current = index === 0 || item === undefined ? undefined : { key: keyOf(item), index };
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new list moves rows
  useLayoutEffect(() => {
    const { current: was } = read;
    const there = was === undefined ? undefined : items[was.index];
    if (was === undefined || (there !== undefined && keyOf(there) === was.key)) return note();
    const at = items.findIndex((item) => keyOf(item) === was.key);
    if (at >= 0 && scroller.current !== null) {
      scroller.current.scrollTop += (at - was.index) * ROW;
    }
    note();
  }, [items]);
  return note;
}

export function LongTable<Item>(props: LongTableProps<Item>): ReactNode {
  const { items, keyOf, pages } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const onScroll = useStay(scroller, props);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const isNearEnd = last >= items.length - 20;
  useEffect(() => {
    if (pages !== undefined && isNearEnd && pages.hasNextPage && !pages.isFetching) {
      void pages.fetchNextPage();
    }
  }, [isNearEnd, pages]);
  return (
    // biome-ignore-start lint/a11y: a grid of divs with the roles of a table, so that rows can be positioned
    <div
      className="table-scroll table-long"
      ref={scroller}
      onScroll={onScroll}
      tabIndex={0}
      role="group"
      aria-label={props.label}
    >
      <div role="table" aria-label={props.label} aria-rowcount={items.length + 1} className="table">
        <TableHead {...props} />
        <div role="rowgroup" className="table-rows" style={{ height: rows.getTotalSize() }}>
          {shown.map(({ index, start }) => {
            const item = items[index];
            return item === undefined ? null : (
              <Row key={keyOf(item)} {...props} item={item} at={{ index, start }} />
            );
          })}
        </div>
      </div>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}

function gridOf<Item>(columns: readonly Column<Item>[]): { readonly gridTemplateColumns: string } {
  return { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
}

function TableHead<Item>({ columns }: Pick<TableProps<Item>, 'columns'>): ReactNode {
  return (
    // biome-ignore-start lint/a11y: see above
    <div role="rowgroup" className="table-head">
      <div role="row" className="row row-head" style={gridOf(columns)}>
        {columns.map(({ title, isNumber }) => (
          <div role="columnheader" key={title} className={isNumber ? 'number' : undefined}>
            {title}
          </div>
        ))}
      </div>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}

interface RowProps<Item> extends Pick<TableProps<Item>, 'columns'> {
  readonly item: Item;
  readonly at?: { readonly index: number; readonly start: number };
}

function Row<Item>({ columns, item, at }: RowProps<Item>): ReactNode {
  const position = at === undefined ? {} : { transform: `translateY(${at.start}px)` };
  return (
    // biome-ignore-start lint/a11y: see above
    <div
      role="row"
      className={at === undefined ? 'row' : 'row row-placed'}
      style={{ ...gridOf(columns), ...position }}
      {...(at === undefined ? {} : { 'aria-rowindex': at.index + 2 })}
    >
      {columns.map(({ title, cell, isNumber }) => (
        <div role="cell" key={title} className={isNumber ? 'cell number' : 'cell'}>
          {cell(item)}
        </div>
      ))}
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}
