// Overview: what needs a person, then rates and durations over a range, pipelines and heartbeats. All figures
// are counted in the store.

import { type ReactNode, useState } from 'react';
import type { OverviewMessage, TrendsMessage } from '../../../src/features/overview/messages.ts';
import { blockedIn, sumOf } from '../../../src/features/overview/model.ts';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { useOverview } from '../api/overview.ts';
import { useMay, useRead } from '../api/reads.ts';
import { concernsOf, rangeQuery } from '../model/attention.ts';
import { aboutText, countText } from '../model/words.ts';
import { HeatMap } from '../parts/heat-map.tsx';
import { PageHead, ProblemNote } from '../parts/notes.tsx';
import { RangeChoice, rangeIn } from '../parts/range-choice.tsx';
import { ShareBar } from '../parts/share-bar.tsx';
import { goWith, Link, useLocation } from '../router.tsx';
import { TrendCharts } from './overview-charts.tsx';
import { Attention, PipelineTable, StoreHealth } from './overview-parts.tsx';

const TRENDS_MS = 5_000;
const ROLLOUTS_MAX = 1_000;

export function OverviewPage(): ReactNode {
  const location = useLocation();
  const { operate } = useMay();
  const overview = useOverview();
  const { rangeMs, to } = rangeIn(location);
  const pipeline = location.query.get('pipeline') ?? undefined;
  const trends = useRead(
    requestTo('GET /v1/trends', {
      rangeMs,
      ...(to === undefined ? {} : { to }),
      ...(pipeline === undefined ? {} : { pipeline }),
    }),
    { everyMs: TRENDS_MS },
  );
  // A new range is read while the concerns of the last one stay.
  const [read, setRead] = useState(trends.data);
  if (trends.data !== undefined && trends.data !== read) setRead(trends.data);
  const hasReleases = read?.pipelines.some(({ release }) => release !== undefined) ?? false;
  const rollouts = useRead(requestTo('GET /v1/pipelines', { limit: ROLLOUTS_MAX }), {
    everyMs: TRENDS_MS,
    isEnabled: hasReleases,
  });
  const isComplete =
    (read !== undefined || trends.error !== null) && !(hasReleases && rollouts.isPending);
  const concerns =
    overview.data === undefined || !isComplete
      ? undefined
      : concernsOf(overview.data, read, { rollouts: rollouts.data?.items, to });
  const names = [...new Set(overview.data?.pipelines.map((each) => each.pipeline))];
  return (
    <>
      <PageHead title="Overview">
        <RangeChoice location={location} />
        <select
          className="pipeline-choice"
          aria-label="Pipeline"
          value={pipeline ?? ''}
          onChange={(event) => goWith(location, { pipeline: event.target.value })}
        >
          <option value="">All pipelines</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </PageHead>
      <ProblemNote error={overview.error ?? trends.error} />
      <Attention concerns={concerns} />
      {/* After the list, whose length would move them. */}
      {concerns === undefined && overview.error === null ? null : (
        <>
          <Figures overview={overview.data} trends={trends.data} pipeline={pipeline} to={to} />
          <TrendCharts trends={trends.data} location={location} />
          <div className="overview-split">
            <PipelineTable overview={overview.data} trends={trends.data} />
            <div className="overview-side">
              {operate ? <HeatMap rangeMs={rangeMs} to={to} /> : null}
              <StoreHealth />
            </div>
          </div>
        </>
      )}
    </>
  );
}

type Ended = TrendsMessage['total']['ended'];

function endedIn({ completed, failed, cancelled, quarantined, compensated }: Ended): number {
  return completed + failed + cancelled + quarantined + compensated;
}

function badPart(ended: Ended): number | undefined {
  const all = endedIn(ended);
  return all === 0 ? undefined : (ended.failed + ended.quarantined) / all;
}

interface FiguresProps {
  /** Undefined before it is read. */
  readonly overview: OverviewMessage | undefined;
  readonly trends: TrendsMessage | undefined;
  readonly pipeline: string | undefined;
  /** The end of the range; now by default. */
  readonly to: string | undefined;
}

function Figures({ overview, trends, pipeline, to }: FiguresProps): ReactNode {
  const pipelines = (overview?.pipelines ?? []).filter(
    (each) => pipeline === undefined || each.pipeline === pipeline,
  );
  const of = (name: 'queued' | 'running' | 'waiting') =>
    sumOf(pipelines.map(({ statuses }) => statuses[name]));
  const [queued, running, waiting] = [of('queued'), of('running'), of('waiting')];
  const open = sumOf([queued, running, waiting]);
  const blocked = blockedIn({ pipelines });
  const free = { ...queued, count: Math.max(0, queued.count - blocked.count) };
  const minutes =
    trends === undefined ? 1 : (Date.parse(trends.to) - Date.parse(trends.from)) / 60_000;
  const perMinute = trends === undefined ? undefined : endedIn(trends.total.ended) / minutes;
  const before = trends === undefined ? undefined : endedIn(trends.previous.ended) / minutes;
  const bad = trends === undefined ? undefined : badPart(trends.total.ended);
  const badBefore = trends === undefined ? undefined : badPart(trends.previous.ended);
  const duration = trends?.total.duration;
  const workers = overview?.workers;
  const slots = workers === undefined ? 0 : workers.running + workers.room;
  const known = overview !== undefined;
  return (
    <ul className="figures">
      <Figure
        name="Throughput"
        value={perMinute === undefined ? undefined : `${rateText(perMinute)} /min`}
        about={changeText(perMinute, before)}
      />
      <Figure
        name="Failure rate"
        value={trends === undefined ? undefined : bad === undefined ? '–' : partText(bad)}
        severity={bad !== undefined && bad > 0 ? 'failed' : undefined}
        about={badBefore === undefined ? ' ' : `${partText(badBefore)} before`}
        to={`/executions?status=failed&status=quarantined${pipeline === undefined ? '' : `&pipeline=${encodeURIComponent(pipeline)}`}${rangeQuery(trends?.from, to)}`}
      />
      <Figure
        name="Median duration"
        value={
          trends === undefined
            ? undefined
            : duration === undefined
              ? '–'
              : aboutText(duration.p50Ms)
        }
        about={
          duration === undefined
            ? ' '
            : // A line breaks between the figures, never inside of one.
              [`p95 ${aboutText(duration.p95Ms)}`, `p99 ${aboutText(duration.p99Ms)}`]
                .map((figure) => figure.replaceAll(' ', '\u{a0}'))
                .join(' · ')
        }
      />
      <Figure
        name="Open now"
        value={known ? countedText(open) : undefined}
        about={
          known
            ? `${countedText(running)} running · ${countedText(waiting)} waiting · ${countedText(free)} queued${blocked.count === 0 ? '' : ` · ${countedText(blocked)} blocked`}`
            : ' '
        }
        to="/executions?status=queued&status=running&status=waiting"
      />
      <Figure
        name="Dead letters"
        value={overview === undefined ? undefined : countedText(overview.deadLetters)}
        severity={overview !== undefined && overview.deadLetters.count > 0 ? 'failed' : undefined}
        about="open, not re-driven"
        to="/dead-letters"
      />
      <Figure
        name="Worker slots"
        value={
          workers === undefined ? undefined : `${countText(workers.running)} / ${countText(slots)}`
        }
        about={
          workers === undefined
            ? ' '
            : `busy of all · ${countText(workers.ready)} ${workers.ready === 1 ? 'worker' : 'workers'} ready`
        }
        title="A slot runs one execution. The concurrency of a worker is its number of slots."
        to="/workers"
      >
        <ShareBar
          part={slots === 0 ? 0 : (workers?.running ?? 0) / slots}
          severity="ok"
          label="busy slots"
        />
      </Figure>
    </ul>
  );
}

function countedText({
  count,
  capped,
}: {
  readonly count: number;
  readonly capped: boolean;
}): string {
  return `${countText(count)}${capped ? '+' : ''}`;
}

function rateText(perMinute: number): string {
  return perMinute === 0 || perMinute >= 10
    ? countText(Math.round(perMinute))
    : String(Number(perMinute.toPrecision(2)));
}

function partText(part: number): string {
  return `${(part * 100).toFixed(part < 0.1 ? 1 : 0)} %`;
}

function changeText(now: number | undefined, before: number | undefined): string {
  if (now === undefined || before === undefined) return ' ';
  if (before === 0) return now === 0 ? 'nothing ended' : 'none in the range before';
  const change = Math.round((now / before - 1) * 100);
  return change === 0 ? 'steady' : `${change > 0 ? '▲' : '▼'} ${countText(Math.abs(change))} %`;
}

interface FigureProps {
  readonly name: string;
  /** Undefined before it is read. */
  readonly value: string | undefined;
  readonly about: string;
  readonly severity?: 'failed' | undefined;
  readonly to?: string;
  readonly title?: string;
  readonly children?: ReactNode;
}

function Figure({ name, value, about, severity, to, title, children }: FigureProps): ReactNode {
  const content = (
    <>
      <span>{name}</span>
      <strong className={severity === undefined ? undefined : `figure-${severity}`}>
        {value ?? '…'}
      </strong>
      <span className="figure-about">{about}</span>
      {children}
    </>
  );
  return (
    <li className="card figure" title={title}>
      {to === undefined ? content : <Link to={to}>{content}</Link>}
    </li>
  );
}
