// The operations that the code of an archived execution called, in order, with their outcomes.

import type { ReactNode } from 'react';
import { durationText } from '../model/words.ts';
import { LongTable } from '../parts/long-table.tsx';
import { Status, Time } from '../parts/marks.tsx';
import { Empty } from '../parts/notes.tsx';
import type { Column } from '../parts/table.tsx';

/** An entry of `steps.json`. */
export interface ArchivedStep {
  readonly call: string;
  readonly part: number;
  readonly name?: string;
  readonly outcome: 'completed' | 'failed' | 'open';
  readonly failures: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

const COLUMNS: readonly Column<ArchivedStep>[] = [
  {
    title: 'Operation',
    width: 'minmax(12rem, 2fr)',
    cell: ({ call }) => (
      <span className="mono" title={call}>
        {call}
      </span>
    ),
  },
  { title: 'Name', width: 'minmax(8rem, 1fr)', cell: ({ name = '' }) => name },
  { title: 'Outcome', width: '8rem', cell: ({ outcome }) => <Status status={outcome} /> },
  { title: 'Failures', width: '5.5rem', isNumber: true, cell: ({ failures }) => failures },
  { title: 'Started', width: '7.5rem', cell: ({ firstAt }) => <Time at={firstAt} /> },
  {
    title: 'Duration',
    width: '6rem',
    isNumber: true,
    cell: ({ firstAt, lastAt }) => durationText(Date.parse(lastAt) - Date.parse(firstAt)),
  },
];

export function Steps({ steps }: { readonly steps: readonly ArchivedStep[] }): ReactNode {
  if (steps.length === 0) return <Empty title="No operations" />;
  return (
    <LongTable
      label="Steps"
      columns={COLUMNS}
      items={steps}
      keyOf={({ part, call }) => `${part} ${call}`}
    />
  );
}
