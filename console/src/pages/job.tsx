// One bulk job: its progress and the outcome of each item.

import type { ReactNode } from 'react';
import type { JobItemPage, JobMessage } from '../../../src/features/repair/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import {
  actionText,
  actorText,
  countText,
  durationText,
  plural,
  sentenceCase,
} from '../model/words.ts';
import { OperationButton, reasoned } from '../parts/dialog.tsx';
import { LongTable } from '../parts/long-table.tsx';
import { ExecutionLink, Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import type { Column } from '../parts/table.tsx';
import { Link } from '../router.tsx';

type Item = JobItemPage['items'][number];

/** A job that re-drives reports `submitted` for the execution that it created. */
function outcomeText(outcome: string): string {
  return outcome === 'submitted' ? 'Re-driven' : sentenceCase(outcome);
}

const COLUMNS: readonly Column<Item>[] = [
  { title: 'Execution', width: '11rem', cell: ({ target }) => <ExecutionLink id={target} /> },
  {
    title: 'Outcome',
    width: 'minmax(10rem, 1fr)',
    cell: ({ outcome }) => outcomeText(outcome),
  },
  {
    title: 'New execution',
    width: '11rem',
    cell: ({ made }) => (made === undefined ? '' : <ExecutionLink id={made} />),
  },
  { title: 'Done at', isWide: true, width: '9rem', cell: ({ at }) => <Time at={at} /> },
];

const POLL_MS = 1_000;

export function JobPage({ id }: { readonly id: string }): ReactNode {
  const read = useRead(requestTo('GET /v1/jobs/:id', { id }), { everyMs: POLL_MS });
  const pages = usePages(requestTo('GET /v1/jobs/:id/items', { id, limit: 200 }), {
    everyMs: 2 * POLL_MS,
  });
  const items = itemsOf(pages);
  const { data: job } = read;
  return (
    <Shown of={read}>
      {job === undefined ? null : (
        <>
          <p className="crumb">
            <Link to="/jobs">Jobs</Link> / <span className="mono">{id}</span>
          </p>
          <PageHead
            title={titleOf(job)}
            about={<Status status={job.status} holds={job.paused ? ['paused'] : []} />}
          >
            {ENDED.has(job.status) ? null : <JobOperations job={job} />}
          </PageHead>
          <Progress job={job} />
          <Shown
            of={pages}
            isEmpty={pages.data !== undefined && items.length === 0}
            empty={<Empty title={job.dryRun ? 'Previews have no items' : 'No items yet'} />}
          >
            <LongTable
              label="Items"
              columns={COLUMNS}
              items={items}
              keyOf={({ target }) => target}
              pages={pages}
            />
          </Shown>
        </>
      )}
    </Shown>
  );
}

function titleOf({ action, dryRun }: JobMessage): string {
  const text = actionText(action).toLowerCase();
  return dryRun ? `Preview of bulk ${text}` : `Bulk ${text}`;
}

function Progress({ job }: { readonly job: JobMessage }): ReactNode {
  const until = job.endedAt === undefined ? Date.now() : Date.parse(job.endedAt);
  const tookMs = Math.max(1, until - Date.parse(job.submittedAt));
  return (
    <section className="card progress" aria-label="Progress">
      <p role="status">
        <strong>{plural(job.seen, 'item')}</strong> in {durationText(tookMs)} (
        {countText(Math.round((job.seen * 1_000) / tookMs))}/s). Started by {actorText(job.actor)}.
        {job.reason === '' ? '' : ` Reason: ${job.reason}`}
      </p>
      <ul className="outcomes">
        {Object.entries(job.outcomes).map(([outcome, count]) => (
          <li key={outcome}>
            <strong>{countText(count)}</strong> {outcomeText(outcome).toLowerCase()}
          </li>
        ))}
      </ul>
    </section>
  );
}

function JobOperations({ job }: { readonly job: JobMessage }): ReactNode {
  const verb = job.paused ? 'resume' : 'pause';
  const operation = (name: 'pause' | 'resume' | 'stop') => (reason: string) =>
    requestTo(`POST /v1/jobs/:id/${name}`, { id: job.id, ...reasoned(reason) });
  return (
    <>
      <OperationButton
        label={job.paused ? 'Resume…' : 'Pause…'}
        ask={{
          title: job.paused ? 'Resume job' : 'Pause job',
          sentence: job.paused ? 'Continues where it stopped.' : 'Pauses after the current item.',
          verb: job.paused ? 'Resume job' : 'Pause job',
          operation: operation(verb),
        }}
      />
      <OperationButton
        label="Stop…"
        className="danger"
        ask={{
          title: 'Stop job?',
          sentence: 'Remaining items are skipped. Completed items are not reverted.',
          verb: 'Stop job',
          dismiss: 'Keep running',
          isDanger: true,
          operation: operation('stop'),
        }}
      />
    </>
  );
}
