// Tables whose rows are all drawn.

import type { ReactNode } from 'react';

export interface Column<Item> {
  readonly title: string;
  /** A CSS grid width. */
  readonly width: string;
  readonly cell: (item: Item) => ReactNode;
  readonly isNumber?: boolean;
  /** Narrow windows leave it out. */
  readonly isWide?: boolean;
}

export interface TableProps<Item> {
  readonly label: string;
  readonly columns: readonly Column<Item>[];
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
}

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

/** The widths for each kind of window; the style sheet chooses. */
function gridOf<Item>(columns: readonly Column<Item>[]): object {
  const widthsOf = (list: readonly Column<Item>[]) => list.map(({ width }) => width).join(' ');
  const narrow = columns.filter(({ isWide }) => isWide !== true);
  return { '--columns': widthsOf(columns), '--narrow-columns': widthsOf(narrow) };
}

function classOf<Item>({ isNumber, isWide }: Column<Item>, base = ''): string {
  return [base, isNumber ? 'number' : '', isWide ? 'wide-only' : ''].filter(Boolean).join(' ');
}

export function TableHead<Item>({ columns }: Pick<TableProps<Item>, 'columns'>): ReactNode {
  return (
    // biome-ignore-start lint/a11y: see above
    <div role="rowgroup" className="table-head">
      <div role="row" className="row row-head" style={gridOf(columns)}>
        {columns.map((column) => (
          <div role="columnheader" key={column.title} className={classOf(column)}>
            {column.title}
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

export function Row<Item>({ columns, item, at }: RowProps<Item>): ReactNode {
  const position = at === undefined ? {} : { transform: `translateY(${at.start}px)` };
  return (
    // biome-ignore-start lint/a11y: see above
    <div
      role="row"
      className={at === undefined ? 'row' : 'row row-placed'}
      style={{ ...gridOf(columns), ...position }}
      {...(at === undefined ? {} : { 'aria-rowindex': at.index + 2 })}
    >
      {columns.map((column) => (
        <div role="cell" key={column.title} className={classOf(column, 'cell')}>
          {column.cell(item)}
        </div>
      ))}
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}
