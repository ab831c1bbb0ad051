// One job: how far it is, and what became of each item.

import type { ReactNode } from 'react';
import type { JobItemPage, JobMessage } from '../../../src/features/repair/messages.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import { ENDED } from '../model/statuses.ts';
import { countText, durationText, plural } from '../model/words.ts';
import { OperationButton, reasoned } from '../parts/dialog.tsx';
import { ExecutionLink, Status, Time } from '../parts/marks.tsx';
import { Empty, PageHead, Shown } from '../parts/notes.tsx';
import { type Column, LongTable } from '../parts/table.tsx';
import { Link } from '../router.tsx';

type Item = JobItemPage['items'][number];

const COLUMNS: readonly Column<Item>[] = [
  { title: 'Execution', width: '11rem', cell: ({ target }) => <ExecutionLink id={target} /> },
  { title: 'Outcome', width: 'minmax(10rem, 1fr)', cell: ({ outcome }) => outcome },
  {
    title: 'Made',
    width: '11rem',
    cell: ({ made }) => (made === undefined ? '' : <ExecutionLink id={made} />),
  },
  { title: 'At', width: '9rem', cell: ({ at }) => <Time at={at} /> },
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
            <Link to="/dead-letters">Dead letters</Link> / job
          </p>
          <PageHead
            title={job.dryRun ? `Count for ${job.action}` : `${job.action} of many`}
            about={<Status status={job.status} holds={job.paused ? ['paused'] : []} />}
          >
            {ENDED.has(job.status) ? null : <JobOperations job={job} />}
          </PageHead>
          <Progress job={job} />
          <Shown
            of={pages}
            isEmpty={pages.data !== undefined && items.length === 0}
            empty={
              <Empty
                title={job.dryRun ? 'A count changes nothing, and has no items' : 'No item yet'}
              />
            }
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

function Progress({ job }: { readonly job: JobMessage }): ReactNode {
  const until = job.endedAt === undefined ? Date.now() : Date.parse(job.endedAt);
  const tookMs = Math.max(1, until - Date.parse(job.submittedAt));
  return (
    <section className="card progress" aria-label="Progress">
      <p role="status">
        <strong>{plural(job.seen, 'item')}</strong> in {durationText(tookMs)},{' '}
        {countText(Math.round((job.seen * 1_000) / tookMs))} in a second. Asked for by {job.actor}
        {job.reason === '' ? '' : `: ${job.reason}`}.
      </p>
      <ul className="outcomes">
        {Object.entries(job.outcomes).map(([outcome, count]) => (
          <li key={outcome}>
            <strong>{countText(count)}</strong> {outcome}
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
          title: job.paused ? 'Let the job go on' : 'Hold the job',
          sentence: job.paused
            ? 'It goes on where it was.'
            : 'It stays where it is until it is resumed.',
          verb: job.paused ? 'Resume' : 'Pause',
          operation: operation(verb),
        }}
      />
      <OperationButton
        label="Stop…"
        className="danger"
        ask={{
          title: 'Stop the job',
          sentence: 'It ends. What it has done stays done.',
          verb: 'Stop',
          isDanger: true,
          operation: operation('stop'),
        }}
      />
    </>
  );
}
