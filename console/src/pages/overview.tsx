// How it goes: what comes and ends, how long it takes, what waits, and whether the store answers.

import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import type { ExecutionMessage } from '../../../src/protocol/messages/execution.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type { DepthMessage } from '../../../src/protocol/messages/sessions.ts';
import { call } from '../api/call.ts';
import { useCaller, useRead } from '../api/reads.ts';
import { pulseOf } from '../model/pulse.ts';
import { countText, durationText, plural, quantile } from '../model/words.ts';
import { Time, useNow } from '../parts/marks.tsx';
import { PageHead, ProblemNote, StoreProblemNote } from '../parts/notes.tsx';
import { Plot } from '../parts/plot.tsx';
import { Link } from '../router.tsx';

const SAMPLE = 1_000;
const LOOK_MS = 5_000;

export function OverviewPage(): ReactNode {
  const newest = useRead(requestTo('GET /v1/executions', { limit: SAMPLE }), {
    everyMs: LOOK_MS,
  });
  const depth = useRead(requestTo('GET /v1/depth'), { everyMs: LOOK_MS });
  const now = useNow(LOOK_MS);
  const items = newest.data?.items ?? [];
  const pulse = useMemo(() => pulseOf(items, now), [items, now]);
  const whole = newest.data?.cursor === undefined;
  return (
    <>
      <PageHead
        title="Overview"
        about={
          newest.data === undefined ? (
            ' '
          ) : whole ? (
            plural(items.length, 'execution')
          ) : (
            <Covered oldest={items.at(-1)} />
          )
        }
      />
      <Figures items={newest.data?.items} isWhole={whole} depth={depth.data} />
      <ProblemNote error={newest.error ?? depth.error} />
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
          say={(value) => (value < 10 && !Number.isInteger(value) ? '' : durationText(value))}
          curves={[
            { label: 'half are faster', colour: '--accent', values: pulse.p50 },
            { label: '95 of 100 are faster', colour: '--waiting', values: pulse.p95 },
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

/** What the curves are made from, where there is more. */
function Covered({ oldest }: { readonly oldest: ExecutionMessage | undefined }): ReactNode {
  return (
    <>
      What waits and runs is counted; the rest is of the newest {countText(SAMPLE)} executions
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
  readonly isWhole: boolean;
  readonly depth: DepthMessage | undefined;
}

/** What ended wrong is one figure, whatever became of undoing it: nobody is told that nothing failed. */
const COUNTED = [
  { statuses: ['waiting'], what: 'waiting' },
  { statuses: ['failed', 'quarantined'], what: 'failed or quarantined' },
  { statuses: ['completed'], what: 'completed' },
] as const;

function Figures({ items, isWhole, depth }: FiguresProps): ReactNode {
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
  const half = quantile(took, 0.5);
  const of = isWhole ? '' : ' of the newest';
  return (
    <ul className="figures">
      <li className="card figure">
        <Link to="/executions?status=running">
          <strong className="figure-running">
            {running === undefined ? '–' : countText(running)}
          </strong>
          <span>running</span>
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
        <strong>{half === undefined ? '–' : durationText(half)}</strong>
        <span>half took less</span>
      </li>
    </ul>
  );
}

/** Counted by the store, however many there are, up to a bound that is said. */
function Backlog({ depth }: { readonly depth: DepthMessage | undefined }): ReactNode {
  const lanes = depth?.lanes ?? [];
  const all = lanes.reduce((sum, { ready }) => sum + ready, 0);
  return (
    <section className="card" aria-label="Backlog">
      <h2>Backlog by lane</h2>
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
        {all === 0
          ? 'Nothing waits for a worker.'
          : 'Ready, and not yet taken by a worker; limits of their keys apart.'}
      </p>
      <StoreProblemNote by={depth?.storeProblem} />
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
      await call(requestTo('GET /readyz'));
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
