// The charts of the overview. A brush zooms into a range, which the URL keeps.

import type { ReactNode } from 'react';
import type { TrendsMessage } from '../../../src/features/overview/messages.ts';
import { momentText, timeAxis, valueAxis } from '../model/axes.ts';
import { aboutText, countText, durationText } from '../model/words.ts';
import { Chart, type Series } from '../parts/chart.tsx';
import { goWith, Link, type PageLocation } from '../router.tsx';

interface TrendChartsProps {
  readonly trends: TrendsMessage | undefined;
  readonly location: PageLocation;
}

export function TrendCharts({ trends, location }: TrendChartsProps): ReactNode {
  if (trends === undefined) return <div className="plots plots-empty" />;
  const { points, intervalMs } = trends;
  const [fromMs, toMs] = [Date.parse(trends.from), Date.parse(trends.to)];
  const x = timeAxis(fromMs, toMs);
  const places = points.map(({ at }) => x.place(Date.parse(at) + intervalMs / 2));
  const onBrush = (from: number, to: number): void => {
    const timeAt = (part: number) => new Date(fromMs + part * (toMs - fromMs)).toISOString();
    goWith(location, { from: timeAt(from), to: timeAt(to) });
  };
  const headingOf = (index: number): string =>
    momentText(Date.parse(points[index]?.at ?? ''), toMs - fromMs);
  const shared = { places, x, headingOf, onBrush };
  return (
    <div className="plots">
      <Ended points={points} shared={shared} perText={durationText(intervalMs)} />
      <Durations points={points} shared={shared} />
      {location.query.has('from') ? (
        <p className="zoom-note">
          <button
            type="button"
            onClick={() => goWith(location, { from: undefined, to: undefined })}
          >
            Reset zoom
          </button>{' '}
          <Link to={`/executions?${shownIn(location)}`}>Executions that ended in this range</Link>
        </p>
      ) : null}
    </div>
  );
}

function shownIn({ query }: PageLocation): URLSearchParams {
  const pipeline = query.get('pipeline');
  return new URLSearchParams({
    ...{ endedFrom: query.get('from') ?? '', endedTo: query.get('to') ?? '' },
    ...(pipeline === null ? {} : { pipeline }),
  });
}

interface PartProps {
  readonly points: TrendsMessage['points'];
  readonly shared: Pick<Parameters<typeof Chart>[0], 'places' | 'x' | 'headingOf' | 'onBrush'>;
}

function Ended({ points, shared, perText }: PartProps & { readonly perText: string }): ReactNode {
  const of = (textOf: (ended: PartProps['points'][number]['ended']) => number) =>
    points.map(({ ended }) => textOf(ended));
  const series: readonly Series[] = [
    {
      ...{ label: 'completed', colour: '--completed', kind: 'bar' },
      values: of(({ completed }) => completed),
    },
    {
      ...{ label: 'compensated, cancelled', colour: '--compensated', kind: 'bar' },
      values: of(({ compensated, cancelled }) => compensated + cancelled),
    },
    {
      ...{ label: 'failed, quarantined', colour: '--failed', kind: 'bar' },
      values: of(({ failed, quarantined }) => failed + quarantined),
    },
  ];
  const sums = points.map((_, index) =>
    series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  const parts = series.map(
    ({ label, values }) =>
      `${countText(values.reduce<number>((sum, each) => sum + (each ?? 0), 0))} ${label}`,
  );
  return (
    <Chart
      title={`Executions ended per ${perText}`}
      series={series}
      y={valueAxis(Math.max(1, ...sums), countText, 1)}
      format={countText}
      summary={`${parts.join('; ')} in this range`}
      {...shared}
    />
  );
}

function Durations({ points, shared }: PartProps): ReactNode {
  const of = (name: 'p50Ms' | 'p95Ms' | 'p99Ms') =>
    points.map(({ duration }) => duration?.[name] ?? null);
  const series: readonly Series[] = [
    { label: 'p50', colour: '--accent', kind: 'line', values: of('p50Ms') },
    { label: 'p95', colour: '--waiting', kind: 'line', values: of('p95Ms') },
    { label: 'p99', colour: '--failed', kind: 'dashed', values: of('p99Ms') },
  ];
  const most = Math.max(1, ...series.flatMap(({ values }) => values.map((each) => each ?? 0)));
  const last = points.findLast(({ duration }) => duration !== undefined)?.duration;
  return (
    <Chart
      title="Duration"
      series={series}
      y={valueAxis(most, durationText)}
      format={aboutText}
      summary={
        last === undefined
          ? 'nothing ended in this range'
          : `latest p50 ${aboutText(last.p50Ms)}, p95 ${aboutText(last.p95Ms)}, p99 ${aboutText(last.p99Ms)}`
      }
      {...shared}
    />
  );
}
