// Line charts over time, or over another quantity.

import 'uplot/dist/uPlot.min.css';
import { type ReactNode, useEffect, useRef } from 'react';
import UPlot from 'uplot';

export interface Curve {
  readonly label: string;
  /** A CSS variable of the theme, such as `--accent`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  /** A single large point instead of a line. */
  readonly isMark?: boolean;
}

/** The horizontal axis if it is not time. Both axes are logarithmic then. */
export interface Across {
  readonly label: string;
  readonly format: (value: number) => string;
}

interface PlotProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly curves: readonly Curve[];
  readonly format: (value: number) => string;
  readonly across?: Across | undefined;
  /** The text alternative; by default the latest value of each curve. */
  readonly summary?: string;
}

const HEIGHT = 180;
const TALL = 300;

export function Plot({ title, times, curves, format, across, summary }: PlotProps): ReactNode {
  const container = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const data = [times, ...curves.map(({ values }) => values)] as unknown as UPlot.AlignedData;
  const latest = useRef({ curves, data, format, across });
  latest.current = { curves, data, format, across };
  const height = across === undefined ? HEIGHT : TALL;
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const { current } = latest;
    const made = new UPlot(optionsOf(element, current), current.data, element);
    plot.current = made;
    const watcher = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
    };
  }, [height]);
  useEffect(() => plot.current?.setData(data), [data]);
  useEffect(() => onTheme(() => plot.current?.redraw(false)), []);
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
        ref={container}
        className={across === undefined ? 'plot-place' : 'plot-place plot-tall'}
        role="img"
        aria-label={`${title}: ${summary ?? summaryOf(curves, format)}`}
      />
    </figure>
  );
}

function summaryOf(curves: readonly Curve[], format: (value: number) => string): string {
  const lasts = curves.map(({ label, values }) => {
    const last = values.findLast((each) => each !== null);
    return `${label} ${last === undefined || last === null ? 'none' : format(last)}`;
  });
  return `latest: ${lasts.join(', ')}`;
}

const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const BY_MINUTE = new Intl.DateTimeFormat(undefined, CLOCK);
const BY_SECOND = new Intl.DateTimeFormat(undefined, { ...CLOCK, second: '2-digit' });
const BY_DAY = new Intl.DateTimeFormat(undefined, { ...CLOCK, month: 'short', day: '2-digit' });
const SHORT_S = 600;
const DAY_S = 86_400;

function clockTexts(seconds: readonly number[]): string[] {
  const lasts = (seconds.at(-1) ?? 0) - (seconds[0] ?? 0);
  const format = lasts < SHORT_S ? BY_SECOND : lasts < DAY_S ? BY_MINUTE : BY_DAY;
  return seconds.map((each) => format.format(each * 1_000));
}

/** A canvas keeps its colours, so it is redrawn when the theme changes. */
function onTheme(redraw: () => void): () => void {
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', redraw);
  const chosen = new MutationObserver(redraw);
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', redraw);
    chosen.disconnect();
  };
}

/** Only powers of ten get a grid line and a label. */
const MAGNITUDES = {
  filter: (_: UPlot, splits: number[]) =>
    splits.map((each) => (Math.abs(Math.log10(each) % 1) < 1e-9 ? each : null)),
};

function optionsOf(
  element: HTMLElement,
  { curves, format, across }: Pick<PlotProps, 'curves' | 'format' | 'across'>,
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
    height: across === undefined ? HEIGHT : TALL,
    legend: { show: false },
    cursor: { y: false },
    scales:
      across === undefined
        ? { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } }
        : { x: { time: false, distr: 3 }, y: { distr: 3 } },
    axes: [
      across === undefined
        ? {
            ...axis,
            space: ({ scales: { x } }) => ((x?.max ?? 0) - (x?.min ?? 0) < DAY_S ? 70 : 110),
            values: (_, splits) => clockTexts(splits),
          }
        : {
            ...{ ...axis, ...MAGNITUDES, grid: { ...axis.grid, ...MAGNITUDES } },
            ...{ space: 40, label: across.label, labelSize: 22, labelFont: axis.font },
            values: (_, splits) => splits.map((each) => (each === null ? '' : across.format(each))),
          },
      {
        ...{ ...axis, size: 58 },
        ...(across === undefined ? {} : { ...MAGNITUDES, grid: { ...axis.grid, ...MAGNITUDES } }),
        values: (_, splits) => splits.map((each) => (each === null ? '' : format(each))),
      },
    ],
    series: [
      {},
      ...curves.map((curve) => ({
        label: curve.label,
        stroke: colour(curve.colour),
        width: curve.isMark === true ? 0 : 1.75,
        spanGaps: false,
        points: { show: true, size: curve.isMark === true ? 13 : 4, fill: colour(curve.colour) },
      })),
    ],
  };
}
