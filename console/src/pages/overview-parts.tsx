// Parts of the overview: needs attention, pipelines, and the health of the store.

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { OverviewMessage, TrendsMessage } from '../../../src/features/overview/messages.ts';
import { sumOf } from '../../../src/features/overview/model.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { call } from '../api/call.ts';
import { useCaller, useCommand } from '../api/reads.ts';
import type { Concern } from '../model/attention.ts';
import { OPEN } from '../model/statuses.ts';
import { aboutText, countText } from '../model/words.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Until } from '../parts/marks.tsx';
import { Empty } from '../parts/notes.tsx';
import { useStale } from '../parts/stale.ts';
import { type Column, Table } from '../parts/table.tsx';
import { Link } from '../router.tsx';

const ICONS: Readonly<Record<Concern['severity'], IconName>> = {
  bad: 'warning',
  quarantine: 'quarantine',
  warn: 'schedules',
};

interface AttentionProps {
  /** Undefined before it is read: then nothing is claimed. */
  readonly concerns: readonly Concern[] | undefined;
}

export function Attention({ concerns }: AttentionProps): ReactNode {
  return (
    <section className="card attention" aria-label="Needs attention">
      <header className="section-head">
        <h2>Needs attention</h2>
        {concerns === undefined || concerns.length === 0 ? null : (
          <span className="nav-count nav-count-bad">{countText(concerns.length)}</span>
        )}
        <span className="about attention-note">counted in the store, not sampled</span>
      </header>
      {concerns === undefined ? (
        <p className="about">Counting…</p>
      ) : concerns.length === 0 ? (
        <p className="about">Nothing needs a person now.</p>
      ) : (
        <ul>
          {concerns.map(({ key, severity, title, detail, to, verb }) => (
            <li key={key}>
              <span className={`attention-icon attention-${severity}`}>
                <Icon name={ICONS[severity]} />
              </span>
              <span className="attention-text">
                <strong>{title}</strong>
                <span className="attention-detail">{detail}</span>
              </span>
              <Link to={to} className="button" aria-label={`${verb}: ${title}`}>
                {verb}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface PipelineRow {
  readonly pipeline: string;
  readonly open: number;
  readonly perHour: number;
  readonly badPart: number | undefined;
  readonly p95Ms: number | undefined;
  readonly oldestReadyAt: string | undefined;
  readonly workers: number;
  readonly failure: OverviewMessage['deadLetters']['causes'][number] | undefined;
}

interface TableProps {
  readonly overview: OverviewMessage | undefined;
  readonly trends: TrendsMessage | undefined;
}

const HOUR_MS = 3_600_000;

function rowsOf({ overview, trends }: TableProps): readonly PipelineRow[] {
  const figures = Map.groupBy(overview?.pipelines ?? [], ({ pipeline }) => pipeline);
  const hours =
    trends === undefined ? 1 : (Date.parse(trends.to) - Date.parse(trends.from)) / HOUR_MS;
  return [...figures].map(([pipeline, each]) => {
    const rates = trends?.pipelines.filter((one) => one.pipeline === pipeline) ?? [];
    const sum = (name: keyof TrendsMessage['total']['ended']) =>
      rates.reduce((total, { ended }) => total + ended[name], 0);
    const bad = sum('failed') + sum('quarantined');
    const all = bad + sum('completed') + sum('cancelled') + sum('compensated');
    const p95 = rates.flatMap(({ duration }) => (duration === undefined ? [] : [duration.p95Ms]));
    return {
      pipeline,
      open: sumOf(each.flatMap(({ statuses }) => [...OPEN].map((status) => statuses[status])))
        .count,
      perHour: all / hours,
      badPart: all === 0 ? undefined : bad / all,
      p95Ms: p95.length === 0 ? undefined : Math.max(...p95),
      oldestReadyAt: each.flatMap(({ oldestReadyAt }) => oldestReadyAt ?? []).toSorted()[0],
      workers: Math.max(...each.map(({ workers }) => workers)),
      failure: overview?.deadLetters.causes.find((cause) => cause.pipeline === pipeline),
    };
  });
}

const COLUMNS: readonly Column<PipelineRow>[] = [
  {
    title: 'Pipeline',
    width: 'minmax(6.5rem, 1.2fr)',
    cell: ({ pipeline }) => (
      <Link to={`/executions?pipeline=${encodeURIComponent(pipeline)}`}>{pipeline}</Link>
    ),
  },
  { title: 'Open', width: '3.5rem', isNumber: true, cell: ({ open }) => countText(open) },
  {
    title: 'Per hour',
    isWide: true,
    width: '4.6rem',
    isNumber: true,
    cell: ({ perHour }) => countText(Math.round(perHour)),
  },
  {
    title: 'Failed',
    width: '4.5rem',
    isNumber: true,
    cell: ({ badPart }) =>
      badPart === undefined ? (
        '–'
      ) : (
        <span className={badPart > 0 ? 'bad' : ''}>{(badPart * 100).toFixed(1)} %</span>
      ),
  },
  {
    title: 'p95',
    isWide: true,
    width: '5.6rem',
    isNumber: true,
    cell: ({ p95Ms }) => (p95Ms === undefined ? '–' : aboutText(p95Ms)),
  },
  {
    title: 'Oldest ready',
    isWide: true,
    width: '7.4rem',
    isNumber: true,
    cell: ({ oldestReadyAt }) => (oldestReadyAt === undefined ? '–' : <Until at={oldestReadyAt} />),
  },
  {
    title: 'Workers',
    width: '4.6rem',
    cell: ({ workers, open }) =>
      workers === 0 && open > 0 ? <span className="tone tone-bad">none</span> : countText(workers),
  },
  {
    title: 'Last failure',
    isWide: true,
    width: 'minmax(4.5rem, 1.4fr)',
    cell: ({ failure }) =>
      failure === undefined ? (
        '–'
      ) : (
        <Link to={`/executions/${failure.newest}`} title={failure.message}>
          {failure.message}
        </Link>
      ),
  },
];

export function PipelineTable(props: TableProps): ReactNode {
  const rows = rowsOf(props);
  const command = useCommand();
  return (
    <section aria-label="Pipelines">
      <h2>Pipelines</h2>
      {props.overview !== undefined && rows.length === 0 ? (
        <Empty title="No executions yet">
          <p>
            Submit one:{' '}
            <code>
              {command} submit &lt;pipeline&gt; '{'{}'}'
            </code>
          </p>
        </Empty>
      ) : (
        <Table
          label="Pipelines"
          columns={COLUMNS}
          items={rows}
          keyOf={({ pipeline }) => pipeline}
        />
      )}
    </section>
  );
}

const HEALTH_MS = 5_000;
const STORE_NAMES: Readonly<Record<string, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL' };

export function StoreHealth(): ReactNode {
  const { data: caller } = useCaller();
  const isStale = useStale();
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
  const isWell = health.error === null && health.data !== undefined && !isStale;
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
