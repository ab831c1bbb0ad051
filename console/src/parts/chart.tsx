// Charts: stacked bars, lines and points, with the values under the pointer and a brush.

import { type PointerEvent, type ReactNode, useState } from 'react';
import type { ChartAxis } from '../model/axes.ts';

export interface Series {
  readonly label: string;
  /** A CSS variable of the theme, such as `--accent`. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
  readonly kind: 'bar' | 'line' | 'dashed' | 'point';
}

interface ChartProps {
  readonly title: string;
  /** The horizontal position of each value, from 0 to 1. */
  readonly places: readonly number[];
  readonly series: readonly Series[];
  readonly x: ChartAxis;
  readonly y: ChartAxis;
  readonly format: (value: number) => string;
  /** The heading of the values under the pointer. */
  readonly headingOf: (index: number) => string;
  /** The text alternative. */
  readonly summary: string;
  readonly onBrush?: (from: number, to: number) => void;
}

const BRUSH_MIN = 0.02;

export function Chart(props: ChartProps): ReactNode {
  const { title, series, x, y, summary, places, onBrush } = props;
  const [at, setAt] = useState<number>();
  const [brush, setBrush] = useState<number>();
  const partOf = (event: PointerEvent<HTMLElement>): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const end = (event: PointerEvent<HTMLElement>): void => {
    const to = partOf(event);
    setBrush(undefined);
    if (brush === undefined || onBrush === undefined) return;
    if (Math.abs(to - brush) > BRUSH_MIN) onBrush(Math.min(brush, to), Math.max(brush, to));
  };
  const nearest = at === undefined ? undefined : nearestTo(places, at);
  return (
    <figure className="chart card">
      <figcaption>
        {title}
        <span className="chart-keys">
          {series.map(({ label, colour }) => (
            <span key={label} className="chart-key" style={colourOf(colour)}>
              {label}
            </span>
          ))}
        </span>
      </figcaption>
      <div className="chart-body" role="img" aria-label={`${title}: ${summary}`}>
        {y.marks.map((mark) => (
          <span key={mark.at} className="chart-y" style={{ insetBlockEnd: `${mark.at * 100}%` }}>
            <span>{mark.label}</span>
          </span>
        ))}
        <div
          className={onBrush === undefined ? 'chart-area' : 'chart-area chart-brushed'}
          onPointerMove={(event) => setAt(partOf(event))}
          onPointerLeave={() => setAt(undefined)}
          onPointerDown={(event) => {
            if (onBrush === undefined) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            setBrush(partOf(event));
          }}
          onPointerUp={end}
        >
          <svg viewBox="0 0 1000 100" preserveAspectRatio="none" aria-hidden="true">
            <Shapes {...props} />
          </svg>
          {brush === undefined || at === undefined ? null : (
            <span
              className="brush"
              style={{
                insetInlineStart: `${Math.min(brush, at) * 100}%`,
                width: `${Math.abs(at - brush) * 100}%`,
              }}
            />
          )}
          {nearest === undefined ? null : <Hover {...props} index={nearest} />}
        </div>
        {x.marks.map((mark) => (
          <span key={mark.at} className="chart-x" style={{ insetInlineStart: `${mark.at * 100}%` }}>
            {mark.label}
          </span>
        ))}
      </div>
    </figure>
  );
}

function colourOf(name: string): object {
  return { '--colour': `var(${name})` };
}

function nearestTo(places: readonly number[], at: number): number | undefined {
  let best: number | undefined;
  for (const [index, place] of places.entries()) {
    if (best === undefined || Math.abs(place - at) < Math.abs((places[best] ?? 0) - at))
      best = index;
  }
  return best;
}

/** In a box of 1000 by 100, stretched to the place. */
function Shapes({ series, places, y }: ChartProps): ReactNode {
  const bars = series.filter(({ kind }) => kind === 'bar');
  const width = 700 / Math.max(1, places.length);
  return (
    <>
      {bars.flatMap((bar, nth) =>
        bar.values.map((value, index) => {
          if (value === null || value === 0) return null;
          const below = bars
            .slice(0, nth)
            .reduce((sum, { values }) => sum + (values[index] ?? 0), 0);
          const place = places[index] ?? 0;
          return (
            <rect
              key={`${bar.label}${place}`}
              style={colourOf(bar.colour)}
              className="chart-bar"
              x={place * 1_000 - width / 2}
              width={width}
              y={100 - y.place(below + value) * 100}
              height={y.place(value) * 100}
            />
          );
        }),
      )}
      {series
        .filter(({ kind }) => kind === 'line' || kind === 'dashed')
        .map((line) => (
          <path
            key={line.label}
            style={colourOf(line.colour)}
            className={line.kind === 'dashed' ? 'chart-line chart-dashed' : 'chart-line'}
            d={pathOf(line.values, places, y)}
          />
        ))}
      {series
        .filter(({ kind }) => kind !== 'bar')
        .flatMap((point) =>
          point.values.map((value, index) =>
            value === null || (point.kind !== 'point' && !isLone(point.values, index)) ? null : (
              <path
                key={`${point.label}${places[index]}`}
                style={colourOf(point.colour)}
                className="chart-point"
                d={`M${(places[index] ?? 0) * 1_000} ${100 - y.place(value) * 100}h0.01`}
              />
            ),
          ),
        )}
    </>
  );
}

/** A lone value has no line, so it is drawn as a point. */
function isLone(values: readonly (number | null)[], index: number): boolean {
  return (values[index - 1] ?? null) === null && (values[index + 1] ?? null) === null;
}

/** A gap in the values is a gap in the line. */
function pathOf(
  values: readonly (number | null)[],
  places: readonly number[],
  y: ChartAxis,
): string {
  let isDown = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDown = false;
        return '';
      }
      const to = `${(places[index] ?? 0) * 1_000} ${100 - y.place(value) * 100}`;
      const text = `${isDown ? 'L' : 'M'}${to}`;
      isDown = true;
      return text;
    })
    .join('');
}

const RIGHT = 0.6;

function Hover({
  series,
  places,
  format,
  headingOf,
  index,
}: ChartProps & { readonly index: number }): ReactNode {
  const place = places[index] ?? 0;
  const known = series.filter(({ values }) => values[index] !== null);
  return (
    <>
      <span className="chart-cursor" style={{ insetInlineStart: `${place * 100}%` }} />
      <span
        className={place > RIGHT ? 'chart-hover chart-hover-left' : 'chart-hover'}
        style={{ insetInlineStart: `${place * 100}%` }}
      >
        <strong>{headingOf(index)}</strong>
        {known.length === 0 ? <span>nothing ended</span> : null}
        {known.map(({ label, colour, values }) => (
          <span key={label} className="chart-key" style={colourOf(colour)}>
            {label} {format(values[index] ?? 0)}
          </span>
        ))}
      </span>
    </>
  );
}
