// The curves of `npm run bench -- growth`, as tables and drawings.

import type { FigureRecord } from './records.ts';

export interface GrowthCurve {
  /** The size that grows, such as `projects`. */
  readonly size: string;
  readonly unit: string;
  readonly lines: readonly { readonly store: string; readonly points: readonly Point[] }[];
}

export interface Point {
  readonly size: number;
  readonly value: number;
}

export function growthCurves(figures: readonly FigureRecord[]): readonly GrowthCurve[] {
  const absolute = figures.filter(({ suite, unit }) => suite === 'growth' && unit !== '×');
  const bySize = Map.groupBy(absolute, ({ settings }) => String(settings['size']));
  return [...bySize].map(([size, found]) => ({
    size,
    unit: found[0]?.unit ?? '',
    lines: [...Map.groupBy(found, ({ store }) => store)].map(([store, points]) => ({
      store,
      points: points
        .map((point) => ({ size: Number(point.case.replaceAll(',', '')), value: point.value }))
        .sort((a, b) => a.size - b.size),
    })),
  }));
}

/** The name of the drawing's file in docs/images. */
export function drawingName({ size }: GrowthCurve): string {
  return `growth-${size
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '-')
    .replace(/-$/, '')}.svg`;
}

const [WIDTH, HEIGHT, EDGE] = [720, 260, 60];
const COLORS: Readonly<Record<string, string>> = { postgres: '#2563a8', sqlite: '#b45309' };

/** Sizes are on a logarithmic axis, at equal distances. Values start at 0. */
export function drawingOf(curve: GrowthCurve): string {
  const sizes = [...new Set(curve.lines.flatMap(({ points }) => points.map(({ size }) => size)))];
  sizes.sort((a, b) => a - b);
  const most = Math.max(...curve.lines.flatMap(({ points }) => points.map(({ value }) => value)));
  const x = (size: number): string =>
    (EDGE + (sizes.indexOf(size) / Math.max(1, sizes.length - 1)) * (WIDTH - 2 * EDGE)).toFixed(1);
  const y = (value: number): string =>
    (HEIGHT - EDGE - (value / most) * (HEIGHT - 2 * EDGE)).toFixed(1);
  const bottom = HEIGHT - EDGE;
  const drawn = curve.lines.flatMap(({ store, points }, nth) => {
    const color = COLORS[store] ?? '#444';
    const places = points.map(({ size, value }) => `${x(size)},${y(value)}`);
    return [
      `<polyline points="${places.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      ...points.map(
        ({ size, value }) => `<circle cx="${x(size)}" cy="${y(value)}" r="3" fill="${color}"/>`,
      ),
      `<text x="${WIDTH - EDGE - 90}" y="${18 + nth * 16}" fill="${color}">${store}</text>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<title>${curve.size}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${EDGE}" y="18" font-weight="bold">${curve.size}, ${unitName(curve.unit)}</text>`,
    `<line x1="${EDGE}" x2="${WIDTH - EDGE}" y1="${bottom}" y2="${bottom}" stroke="#bbb"/>`,
    `<line x1="${EDGE}" x2="${WIDTH - EDGE}" y1="${EDGE}" y2="${EDGE}" stroke="#eee"/>`,
    `<text x="${EDGE - 8}" y="${EDGE + 4}" text-anchor="end">${figure(most)}</text>`,
    `<text x="${EDGE - 8}" y="${bottom + 4}" text-anchor="end">0</text>`,
    ...sizes.map(
      (size) =>
        `<text x="${x(size)}" y="${bottom + 18}" text-anchor="middle">${figure(size)}</text>`,
    ),
    ...drawn,
    '</svg>',
    '',
  ].join('\n');
}

export function unitName(unit: string): string {
  return unit === '/s' ? 'executions per second' : 'milliseconds';
}

export function figure(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString('en-GB');
  return value.toPrecision(2);
}
