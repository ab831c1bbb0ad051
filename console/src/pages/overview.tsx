// How it goes: what comes and ends, how long it takes, what waits, and whether the store answers.

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { call } from '../api/call.ts';
import { type Page, useCaller, useRead } from '../api/reads.ts';
import { pulseOf } from '../model/pulse.ts';
import { countText, durationText, plural, quantile } from '../model/words.ts';
import { useNow } from '../parts/marks.tsx';
import { PageHead, ProblemNote } from '../parts/notes.tsx';
import { Plot } from '../parts/plot.tsx';
import { Link } from '../router.tsx';

const SAMPLE = 1_000;
const LANES = ['interactive', 'batch'] as const;

export function OverviewPage(): ReactNode {
  const newest = useRead<Page<ExecutionMessage>>(`/v1/executions?limit=${SAMPLE}`, {
    everyMs: 5_000,
  });
  const now = useNow(5_000);
  const items = newest.data?.items ?? [];
  const pulse = useMemo(() => pulseOf(items, now), [items, now]);
  const whole = newest.data?.cursor === undefined;
  return (
    <>
      <PageHead
        title="Overview"
        about={
          whole
            ? plural(items.length, 'execution')
            : `From the newest ${countText(SAMPLE)} executions`
        }
      />
      <Figures items={items} isWhole={whole} />
      <ProblemNote error={newest.error} />
      <div className="plots">
        <Plot
          title="Executions"
          times={pulse.times}
          say={(value) => (Number.isInteger(value) ? countText(value) : '')}
          curves={[
            { label: 'submitted', colour: '--running', values: pulse.submitted },
            { label: 'ended', colour: '--completed', values: pulse.ended },
          ]}
        />
        <Plot
          title="From submit to end"
          times={pulse.times}
          say={durationText}
          curves={[
            { label: 'half are faster', colour: '--accent', values: pulse.p50 },
            { label: '95 of 100 are faster', colour: '--waiting', values: pulse.p95 },
          ]}
        />
      </div>
      <div className="panels">
        <Backlog />
        <StoreHealth />
      </div>
    </>
  );
}

function Figures({
  items,
  isWhole,
}: {
  readonly items: readonly ExecutionMessage[];
  readonly isWhole: boolean;
}): ReactNode {
  const count = (status: string): number => items.filter((each) => each.status === status).length;
  const took = items
    .flatMap(({ submittedAt, endedAt }) =>
      endedAt === undefined ? [] : [Date.parse(endedAt) - Date.parse(submittedAt)],
    )
    .sort((one, other) => one - other);
  const half = quantile(took, 0.5);
  const of = isWhole ? '' : ' of the newest';
  return (
    <ul className="figures">
      {(['running', 'waiting', 'failed', 'completed'] as const).map((status) => (
        <li key={status} className="card figure">
          <Link to={`/executions?status=${status}`}>
            <strong className={`figure-${status}`}>{countText(count(status))}</strong>
            <span>
              {status}
              {of}
            </span>
          </Link>
        </li>
      ))}
      <li className="card figure">
        <strong>{half === undefined ? '–' : durationText(half)}</strong>
        <span>half took less</span>
      </li>
    </ul>
  );
}

function Backlog(): ReactNode {
  const queued = useRead<Page<ExecutionMessage>>(`/v1/executions?status=queued&limit=${SAMPLE}`, {
    everyMs: 5_000,
  });
  const items = queued.data?.items ?? [];
  const isMore = queued.data?.cursor !== undefined;
  const most = Math.max(1, items.length);
  return (
    <section className="card" aria-label="Backlog">
      <h2>Backlog by lane</h2>
      <ul className="backlog">
        {LANES.map((lane) => {
          const count = items.filter((each) => each.lane === lane).length;
          return (
            <li key={lane}>
              <span>{lane}</span>
              <meter min={0} max={most} value={count} aria-label={`${lane}: ${count} queued`} />
              <span className="number">
                {countText(count)}
                {isMore ? '+' : ''}
              </span>
            </li>
          );
        })}
      </ul>
      <p className="about">
        {items.length === 0
          ? 'Nothing waits for a worker.'
          : 'Queued, and not yet taken by a worker.'}
      </p>
    </section>
  );
}

const HEALTH_MS = 5_000;

function StoreHealth(): ReactNode {
  const { data: caller } = useCaller();
  const health = useQuery({
    queryKey: ['ready'],
    refetchInterval: HEALTH_MS,
    retry: false,
    queryFn: async () => {
      const startedAt = performance.now();
      await call('/readyz');
      return performance.now() - startedAt;
    },
  });
  const isWell = health.error === null && health.data !== undefined;
  return (
    <section className="card" aria-label="Store">
      <h2>Store</h2>
      <p className={isWell ? 'good' : 'bad'} role="status">
        <strong>{health.isPending ? 'asking …' : isWell ? 'answers' : 'does not answer'}</strong>
      </p>
      <p className="about">
        {caller?.store.kind}
        {isWell ? `, in ${Math.max(1, Math.round(health.data))} ms` : ''}
      </p>
      <p className="about">A “done” survives {caller?.store.survives}.</p>
    </section>
  );
}
