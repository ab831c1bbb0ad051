// Bulk jobs: re-drives, cancels, repins and their previews.

import type { ReactNode } from 'react';
import type { JobMessage } from '../../../src/features/repair/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages } from '../api/reads.ts';
import { actionText, actorText, countedText, countText } from '../model/words.ts';
import { LongTable } from '../parts/long-table.tsx';
import { Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import type { Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';

const COLUMNS: readonly Column<JobMessage>[] = [
  {
    title: 'Job',
    width: 'minmax(9rem, 1fr)',
    cell: ({ id, action, dryRun }) => (
      <Link to={`/jobs/${id}`}>
        {actionText(action)}
        {dryRun ? ' (preview)' : ''}
      </Link>
    ),
  },
  {
    title: 'Status',
    width: '9rem',
    cell: ({ status, paused }) => <Status status={status} holds={paused ? ['paused'] : []} />,
  },
  { title: 'Items', width: '6rem', isNumber: true, cell: ({ seen }) => countText(seen) },
  { title: 'Actor', width: 'minmax(7rem, 1fr)', cell: ({ actor }) => actorText(actor) },
  {
    title: 'Reason',
    width: 'minmax(8rem, 2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { title: 'Started', width: '7.5rem', cell: ({ submittedAt }) => <Time at={submittedAt} /> },
];

export function JobsPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/jobs', { limit: 100 }), { everyMs: 2_000 });
  const items = itemsOf(pages);
  const count = { count: items.length, hasMore: pages.hasNextPage };
  return (
    <>
      <PageHead title="Jobs" about={pages.data === undefined ? ' ' : countedText(count, 'job')} />
      <Shown
        of={pages}
        isEmpty={pages.data !== undefined && items.length === 0}
        empty={
          <Empty title="No jobs">
            <p>Bulk re-drives, cancels and repins appear here while they run and afterwards.</p>
          </Empty>
        }
      >
        <LongTable
          label="Jobs"
          columns={COLUMNS}
          items={items}
          keyOf={({ id }) => id}
          pages={pages}
        />
      </Shown>
    </>
  );
}
