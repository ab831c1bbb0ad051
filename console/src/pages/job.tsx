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
import { ShareBar } from '../parts/share-bar.tsx';
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
    isWide: true,
    width: 'minmax(10rem, 1fr)',
    cell: ({ outcome }) => outcomeText(outcome),
  },
  {
    title: 'New execution',
    width: 'minmax(11rem, 1fr)',
    cell: ({ made, madeStatus }) =>
      made === undefined ? (
        ''
      ) : (
        <>
          <ExecutionLink id={made} /> {madeStatus && <Status status={madeStatus} />}
        </>
      ),
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
          <PageHead title={titleOf(job)} about={<JobStatus job={job} />}>
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

/** Not "Completed": the executions that a finished job created may have failed. */
export function JobStatus({ job }: { readonly job: JobMessage }): ReactNode {
  const status = job.status === 'completed' ? 'finished' : job.status;
  return <Status status={status} holds={job.paused ? ['paused'] : []} />;
}

function titleOf({ action, dryRun }: JobMessage): string {
  const text = actionText(action).toLowerCase();
  return dryRun ? `Preview of bulk ${text}` : `Bulk ${text}`;
}

function Progress({ job }: { readonly job: JobMessage }): ReactNode {
  const until = job.endedAt === undefined ? Date.now() : Date.parse(job.endedAt);
  const tookMs = Math.max(1, until - Date.parse(job.submittedAt));
  const { expected, seen } = job;
  const isKnown = expected !== undefined && expected > 0;
  return (
    <section className="card progress" aria-label="Progress">
      <p role="status">
        <strong>
          {isKnown
            ? `${countText(seen)} of ${plural(expected, 'counted item')}`
            : plural(seen, 'item')}
        </strong>{' '}
        in {durationText(tookMs)} ({countText(Math.round((seen * 1_000) / tookMs))}/s
        {isKnown && seen > 0 && seen < expected && !ENDED.has(job.status) && !job.paused
          ? `, about ${durationText(((expected - seen) * tookMs) / seen)} left`
          : ''}
        ). Started by {actorText(job.actor)}.{job.reason === '' ? '' : ` Reason: ${job.reason}`}
      </p>
      {isKnown ? (
        <ShareBar part={Math.min(1, seen / expected)} severity="ok" label="items done" />
      ) : null}
      <Matching job={job} />
      <Results job={job} />
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

/** The filter of the job, and the list of executions that match it now. */
function Matching({ job: { action, filter } }: { readonly job: JobMessage }): ReactNode {
  if (filter === undefined) return null;
  const { step, open, ...rest } = filter;
  const query = new URLSearchParams(
    Object.entries({ ...(open === true && { redriven: false }), ...rest }).flatMap(
      ([name, value]) => [value].flat().map((each): [string, string] => [name, String(each)]),
    ),
  );
  const parts = Object.entries(filter).map(
    ([name, value]) => `${name} = ${[value].flat().join(', ')}`,
  );
  return (
    <p className="about">
      {parts.length === 0 ? 'All executions of the project' : `Matching ${parts.join(' · ')}`}{' '}
      {step === undefined ? (
        <Link to={`/executions?${query}`}>
          {action === 'cancel' ? 'Executions that match now' : 'Executions that still match'}
        </Link>
      ) : null}
    </p>
  );
}

/** A completed job does not show how the executions that it created ended. */
function Results({ job: { results = {} } }: { readonly job: JobMessage }): ReactNode {
  const all = Object.values(results).reduce((sum, count) => sum + count, 0);
  if (all === 0) return null;
  const bad = (results['failed'] ?? 0) + (results['quarantined'] ?? 0);
  return (
    <p className="results" role="status">
      <strong className={bad > 0 ? 'bad' : undefined}>
        {bad > 0 ? `${countText(bad)} of ${plural(all, 'execution')} failed again.` : 'Now:'}
      </strong>{' '}
      {Object.entries(results).map(([status, count]) => (
        <span key={status}>
          {countText(count)} <Status status={status} />{' '}
        </span>
      ))}
      {bad > 0 ? <Link to="/dead-letters">Dead letters</Link> : null}
    </p>
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
