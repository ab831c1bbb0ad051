// Curves over time.

import 'uplot/dist/uPlot.min.css';
import { type ReactNode, useEffect, useRef } from 'react';
import UPlot from 'uplot';

export interface Curve {
  readonly label: string;
  /** Name of a colour of the theme, such as `--accent`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

interface PlotProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly curves: readonly Curve[];
  readonly say: (value: number) => string;
}

const HEIGHT = 180;

export function Plot({ title, times, curves, say }: PlotProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const data = [times, ...curves.map(({ values }) => values)] as unknown as UPlot.AlignedData;
  const latest = useRef({ curves, data, say });
  latest.current = { curves, data, say };
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const { current } = latest;
    const made = new UPlot(optionsOf(element, current.curves, current.say), current.data, element);
    plot.current = made;
    const watcher = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: HEIGHT }),
    );
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => plot.current?.setData(data), [data]);
  return (
    <figure className="plot">
      <figcaption>
        {title}
        <span className="plot-keys">
          {curves.map(({ label, colour }) => (
            <span
              key={label}
              className="plot-key"
              style={{ '--colour': `var(${colour})` } as object}
            >
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div
        ref={place}
        className="plot-place"
        role="img"
        aria-label={`${title}: ${summary(curves, say)}`}
      />
    </figure>
  );
}

function summary(curves: readonly Curve[], say: (value: number) => string): string {
  const lasts = curves.map(({ label, values }) => {
    const last = values.findLast((each) => each !== null);
    return `${label} ${last === undefined || last === null ? 'none' : say(last)}`;
  });
  return `lately ${lasts.join(', ')}`;
}

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const BY_MINUTE = new Intl.DateTimeFormat(undefined, CLOCK);
const BY_SECOND = new Intl.DateTimeFormat(undefined, { ...CLOCK, second: '2-digit' });
const SHORT_S = 600;

function clockTexts(seconds: readonly number[]): string[] {
  const isShort = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0) < SHORT_S;
  return seconds.map((each) => (isShort ? BY_SECOND : BY_MINUTE).format(each * 1_000));
}

function optionsOf(
  element: HTMLElement,
  curves: readonly Curve[],
  say: (value: number) => string,
): UPlot.Options {
  const colour = (name: string) => (): string => getComputedStyle(element).getPropertyValue(name);
  const axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '11px "Geist Variable", sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
    axes: [
      { ...axis, space: 70, values: (_, splits) => clockTexts(splits) },
      { ...axis, size: 58, values: (_, splits) => splits.map((each) => say(each)) },
    ],
    series: [
      {},
      ...curves.map((curve) => ({
        label: curve.label,
        stroke: colour(curve.colour),
        width: 1.75,
        spanGaps: false,
        points: { show: true, size: 4, fill: colour(curve.colour) },
      })),
    ],
  };
}
