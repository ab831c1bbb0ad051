// A list that is read page by page while the user scrolls.

import type { ReactNode } from 'react';
import { itemsOf, type Pages } from '../api/reads.ts';
import { countedText } from '../model/words.ts';
import { LongTable } from './long-table.tsx';
import { Shown } from './notes.tsx';
import type { TableProps } from './table.tsx';

interface PageListProps<Item> extends Pick<TableProps<Item>, 'label' | 'columns'> {
  readonly pages: Pages<Item>;
  readonly empty: ReactNode;
}

export function PageList<Item extends { readonly id: string }>({
  pages,
  empty,
  ...table
}: PageListProps<Item>): ReactNode {
  const items = itemsOf(pages);
  return (
    <Shown of={pages} isEmpty={pages.data !== undefined && items.length === 0} empty={empty}>
      <LongTable {...table} items={items} keyOf={({ id }) => id} pages={pages} />
    </Shown>
  );
}

/** How many were read, such as `200+ executions`; a blank of the same height until then. */
export function readText<Item>(pages: Pages<Item>, noun: string): string {
  if (pages.data === undefined) return ' ';
  return countedText({ count: itemsOf(pages).length, hasMore: pages.hasNextPage }, noun);
}
