// Overview: executions submitted and ended, their durations, the ready queue, and the health of the store.

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type { DepthMessage } from '../../../src/protocol/messages/sessions.ts';
import { call } from '../api/call.ts';
import { useCaller, useRead } from '../api/reads.ts';
import { pulseOf } from '../model/pulse.ts';
import { countText, durationText, plural, quantile } from '../model/words.ts';
import { Time } from '../parts/marks.tsx';
import { PageHead, ProblemNote, StoreProblemNote } from '../parts/notes.tsx';
import { useNow } from '../parts/now.ts';
import { Plot } from '../parts/plot.tsx';
import { Link } from '../router.tsx';

const SAMPLE = 1_000;
const POLL_MS = 5_000;

export function OverviewPage(): ReactNode {
  const newest = useRead(requestTo('GET /v1/executions', { limit: SAMPLE }), {
    everyMs: POLL_MS,
  });
  const depth = useRead(requestTo('GET /v1/depth'), { everyMs: POLL_MS });
  const now = useNow(POLL_MS);
  const items = newest.data?.items ?? [];
  const pulse = useMemo(() => pulseOf(items, now), [items, now]);
  const isAll = newest.data?.cursor === undefined;
  return (
    <>
      <PageHead
        title="Overview"
        about={
          newest.data === undefined ? (
            ' '
          ) : isAll ? (
            plural(items.length, 'execution')
          ) : (
            <Covered oldest={items.at(-1)} />
          )
        }
      />
      <Figures items={newest.data?.items} isComplete={isAll} depth={depth.data} />
      <ProblemNote error={newest.error ?? depth.error} />
      <div className="plots">
        <Plot
          title="Executions"
          times={pulse.times}
          format={(value) => (Number.isInteger(value) ? countText(value) : '')}
          curves={[
            { label: 'Submitted', colour: '--running', values: pulse.submitted },
            { label: 'Ended', colour: '--completed', values: pulse.ended },
          ]}
        />
        <Plot
          title="Duration (end to end)"
          times={pulse.times}
          format={(value) => (value < 10 && !Number.isInteger(value) ? '' : durationText(value))}
          curves={[
            { label: 'p50', colour: '--accent', values: pulse.p50 },
            { label: 'p95', colour: '--waiting', values: pulse.p95 },
          ]}
        />
      </div>
      <div className="panels">
        <Backlog depth={depth.data} />
        <StoreHealth />
      </div>
    </>
  );
}

/** The range of the charts if there are more executions than they cover. */
function Covered({ oldest }: { readonly oldest: ExecutionMessage | undefined }): ReactNode {
  return (
    <>
      Charts cover the newest {countText(SAMPLE)} executions
      {oldest === undefined ? null : (
        <>
          , submitted since <Time at={oldest.submittedAt} />
        </>
      )}
    </>
  );
}

interface FiguresProps {
  /** Undefined before they are read. */
  readonly items: readonly ExecutionMessage[] | undefined;
  readonly isComplete: boolean;
  readonly depth: DepthMessage | undefined;
}

/** Quarantined executions count as failed: otherwise the page could show no failure while there are some. */
const COUNTED = [
  { statuses: ['waiting'], what: 'Waiting' },
  { statuses: ['failed', 'quarantined'], what: 'Failed' },
  { statuses: ['completed'], what: 'Completed' },
] as const;

function Figures({ items, isComplete, depth }: FiguresProps): ReactNode {
  const count = (statuses: readonly string[]): string =>
    items === undefined
      ? '–'
      : countText(items.filter(({ status }) => statuses.includes(status)).length);
  const running = depth?.lanes.reduce((sum, lane) => sum + lane.running, 0);
  const took = (items ?? [])
    .flatMap(({ submittedAt, endedAt }) =>
      endedAt === undefined ? [] : [Date.parse(endedAt) - Date.parse(submittedAt)],
    )
    .sort((one, other) => one - other);
  const median = quantile(took, 0.5);
  const of = isComplete ? '' : ` (newest ${countText(SAMPLE)})`;
  return (
    <ul className="figures">
      <li className="card figure">
        <Link to="/executions?status=running">
          <strong className="figure-running">
            {running === undefined ? '–' : countText(running)}
          </strong>
          <span>Running</span>
        </Link>
      </li>
      {COUNTED.map(({ statuses, what }) => (
        <li key={what} className="card figure">
          <Link to={`/executions?${statuses.map((each) => `status=${each}`).join('&')}`}>
            <strong className={`figure-${statuses[0]}`}>{count(statuses)}</strong>
            <span>
              {what}
              {of}
            </span>
          </Link>
        </li>
      ))}
      <li className="card figure">
        <strong>{median === undefined ? '–' : durationText(median)}</strong>
        <span>Median duration</span>
      </li>
    </ul>
  );
}

/** Counted by the store up to a limit; `+` marks a count that reached it. */
function Backlog({ depth }: { readonly depth: DepthMessage | undefined }): ReactNode {
  const lanes = depth?.lanes ?? [];
  const all = lanes.reduce((sum, { ready }) => sum + ready, 0);
  return (
    <section className="card" aria-label="Ready queue">
      <h2>Ready queue by lane</h2>
      <ul className="backlog">
        {lanes.map(({ lane, ready }) => (
          <li key={lane}>
            <span>{lane}</span>
            <meter
              min={0}
              max={Math.max(1, all)}
              value={ready}
              aria-label={`${lane}: ${ready} ready`}
            />
            <span className="number">
              {countText(ready)}
              {ready === depth?.max ? '+' : ''}
            </span>
          </li>
        ))}
      </ul>
      <p className="about">
        {depth === undefined
          ? ' '
          : all === 0
            ? 'Queue is empty'
            : 'Ready and not yet claimed, excluding executions held by concurrency or rate limits'}
      </p>
      <StoreProblemNote by={depth?.storeProblem} />
    </section>
  );
}

const HEALTH_MS = 5_000;
const STORE_NAMES: Readonly<Record<string, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

function StoreHealth(): ReactNode {
  const { data: caller } = useCaller();
  const health = useQuery({
    queryKey: ['ready'],
    refetchInterval: HEALTH_MS,
    retry: false,
    queryFn: async () => {
      const startedAt = performance.now();
      await call(requestTo('GET /readyz'));
      return performance.now() - startedAt;
    },
  });
  const isWell = health.error === null && health.data !== undefined;
  return (
    <section className="card" aria-label="Store">
      <h2>Store</h2>
      <p className={isWell ? 'good' : 'bad'} role="status">
        <strong>{health.isPending ? 'Checking…' : isWell ? 'Healthy' : 'Unreachable'}</strong>
      </p>
      <p className="about">
        {STORE_NAMES[caller?.store.kind ?? ''] ?? caller?.store.kind}
        {isWell ? ` · ${Math.max(1, Math.round(health.data))} ms round trip from this browser` : ''}
      </p>
      <p className="about">Durability: commits survive {caller?.store.survives}.</p>
    </section>
  );
}
