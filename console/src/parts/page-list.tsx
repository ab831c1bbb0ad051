// A list that is read page by page while the user scrolls.

import { type ReactNode, useMemo } from 'react';
import { itemsOf, type Pages } from '../api/reads.ts';
import { countedText } from '../model/words.ts';
import { LongTable } from './long-table.tsx';
import { Shown } from './notes.tsx';
import type { TableProps } from './table.tsx';

interface PageListProps<Item> extends Pick<TableProps<Item>, 'label' | 'columns'> {
  readonly pages: Pages<Item>;
  readonly empty: ReactNode;
  /** Sorts what was read. By default it stays in the order of the pages. */
  readonly order?: Order<Item> | undefined;
}

export type Order<Item> = (one: Item, other: Item) => number;

export function PageList<Item extends { readonly id: string }>({
  pages,
  empty,
  order,
  ...table
}: PageListProps<Item>): ReactNode {
  const { data } = pages;
  const items = useMemo(() => {
    const read = data?.pages.flatMap((page) => page.items) ?? [];
    return order === undefined ? read : read.toSorted(order);
  }, [data, order]);
  // A page of a search can be empty before the last one; the table then reads the next.
  const isEmpty = data !== undefined && items.length === 0 && !pages.hasNextPage;
  return (
    <Shown of={pages} isEmpty={isEmpty} empty={empty}>
      <LongTable {...table} items={items} keyOf={({ id }) => id} pages={pages} />
    </Shown>
  );
}

/** The number of rows read, such as `200+ executions`; a blank of the same height until then. */
export function readText<Item>(pages: Pages<Item>, noun: string): string {
  if (pages.data === undefined) return ' ';
  return countedText({ count: itemsOf(pages).length, hasMore: pages.hasNextPage }, noun);
}
