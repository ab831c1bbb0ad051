// Tables of any length: only the visible rows are drawn.

import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { Pages } from '../api/reads.ts';
import { Row, TableHead, type TableProps } from './table.tsx';

const ROW = 36;

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
