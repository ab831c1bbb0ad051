// Bulk jobs: re-drives, cancels, repins and their previews.

import type { ReactNode } from 'react';
import type { JobMessage } from '../../../src/features/repair/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { usePages } from '../api/reads.ts';
import { actionText, actorText, countText } from '../model/words.ts';
import { Time } from '../parts/marks.tsx';
import { Empty, PageHead } from '../parts/notes.tsx';
import { PageList, readText } from '../parts/page-list.tsx';
import type { Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';
import { JobStatus } from './job.tsx';

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
  { title: 'Status', width: '9rem', cell: (job) => <JobStatus job={job} /> },
  {
    title: 'Items',
    isWide: true,
    width: '6rem',
    isNumber: true,
    cell: ({ seen }) => countText(seen),
  },
  {
    title: 'Actor',
    isWide: true,
    width: 'minmax(7rem, 1fr)',
    cell: ({ actor }) => actorText(actor),
  },
  {
    title: 'Reason',
    isWide: true,
    width: 'minmax(8rem, 2fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { title: 'Started', width: '7.5rem', cell: ({ submittedAt }) => <Time at={submittedAt} /> },
];

export function JobsPage(): ReactNode {
  const pages = usePages(requestTo('GET /v1/jobs', { limit: 100 }), { everyMs: 2_000 });
  return (
    <>
      <PageHead title="Jobs" about={readText(pages, 'job')} />
      <PageList
        label="Jobs"
        columns={COLUMNS}
        pages={pages}
        empty={
          <Empty title="No jobs">
            <p>Bulk re-drives, cancels and repins appear here while they run and afterwards.</p>
          </Empty>
        }
      />
    </>
  );
}
