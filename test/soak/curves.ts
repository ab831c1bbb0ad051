// Curves of a soak: whether each is flat, and their drawing.

export interface Curve {
  readonly name: string;
  readonly unit: string;
  /** Growth over the whole window that counts as flat, however small the values are. */
  readonly floor: number;
  readonly values: readonly number[];
}

/** The share of its median by which a flat curve may grow over the whole window. */
const GROWTH_MAX = 0.2;
const WIDTH = 960;
const ROW = 110;
const EDGE = 30;

export interface Trend {
  readonly median: number;
  /** From the first value to the last, by the median of all slopes, so single peaks do not count. */
  readonly growth: number;
  readonly isFlat: boolean;
}

export function trendOf({ values, floor }: Curve): Trend {
  const slopes = values.flatMap((from, nth) =>
    values.slice(nth + 1).map((to, further) => (to - from) / (further + 1)),
  );
  const [median, growth] = [medianOf(values), medianOf(slopes) * (values.length - 1)];
  return { median, growth, isFlat: growth <= Math.max(floor, median * GROWTH_MAX) };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

export function tableOf(curves: readonly Curve[]): readonly string[] {
  const rows = curves.map((curve) => {
    const { median, growth, isFlat } = trendOf(curve);
    const sign = growth < 0 ? '−' : '+';
    const grown = `${sign}${Math.abs(growth).toFixed(1)} ${curve.unit}`;
    return `| ${curve.name} | ${median.toFixed(1)} ${curve.unit} | ${grown} | ${isFlat ? 'yes' : 'no'} |`;
  });
  return ['| Curve | Median | Growth | Flat |', '|---|---:|---:|---|', ...rows];
}

/** One row for each curve, from 0 to its largest value. */
export function curvesSvg(title: string, curves: readonly Curve[], seconds: number): string {
  const height = EDGE + curves.length * ROW;
  const rows = curves.flatMap(({ name, unit, values }, nth) => {
    const [top, most] = [EDGE + nth * ROW, Math.max(...values, 1)];
    const points = values.map((value, at) => {
      const x = EDGE + (at / Math.max(values.length - 1, 1)) * (WIDTH - 2 * EDGE);
      const y = top + ROW - 20 - (value / most) * (ROW - 45);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    return [
      `<text x="${EDGE}" y="${top + 15}">${name} (at most ${most.toFixed(1)} ${unit})</text>`,
      `<line x1="${EDGE}" x2="${WIDTH - EDGE}" y1="${top + ROW - 20}" y2="${top + ROW - 20}" stroke="#bbb"/>`,
      `<polyline points="${points.join(' ')}" fill="none" stroke="#2563a8" stroke-width="1.5"/>`,
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="${EDGE}" y="18" font-weight="bold">${title}, ${seconds.toFixed(0)} s</text>`,
    ...rows,
    '</svg>',
    '',
  ].join('\n');
}
