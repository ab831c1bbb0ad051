// Draws the trade-off: takeover time against losses of live holders, for every considered ttl. It
// marks the current and the recommended settings. The result is one SVG file without scripts.

import type { Recommendation } from './advise.ts';
import type { Candidate } from './candidate.ts';
import type { Prediction } from './predict.ts';
import { showMs } from './words.ts';

const WIDTH = 720;
const HEIGHT = 440;
const LEFT = 84;
const RIGHT = 24;
const TOP = 56;
const BOTTOM = 64;
/** Smaller loss rates are all drawn alike, because their difference does not matter. */
const LOSSES_MIN = 0.01;

interface Axis {
  readonly from: number;
  readonly to: number;
  at(value: number): number;
}

/**
 * Draws takeover time against false losses for all candidates, as SVG text.
 *
 * @example
 * import { writeFile } from 'node:fs/promises';
 *
 * const advice = advise(observationsOf([]), goalsOf('batch'));
 * if (advice.kind === 'recommendation') await writeFile('./trade-off.svg', tradeOffSvg(advice));
 */
export function tradeOffSvg(advice: Recommendation): string {
  const points = [...advice.candidates].sort((a, b) => a.settings.ttlMs - b.settings.ttlMs);
  const all = [
    ...points.map(({ predicted }) => predicted),
    advice.predicted,
    advice.current.predicted,
  ];
  const x = logAxis(all.map(takeover), { from: LEFT, to: WIDTH - RIGHT });
  const y = logAxis(all.map(losses), { from: HEIGHT - BOTTOM, to: TOP });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="Takeover time against false losses">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="24" font-size="15" font-weight="600" fill="#1c2430">Takeover time against false losses</text>`,
    `<text x="${LEFT}" y="42" fill="#5b6675">each point of the line is one ttl; thin where a limit is broken</text>`,
    ...ticks(x, y),
    ...line(points, x, y),
    mark(advice.current.predicted, {
      x,
      y,
      colour: '#b45309',
      label: `now: ttl ${showMs(advice.current.settings.ttlMs)}`,
      row: 1,
    }),
    mark(advice.predicted, {
      x,
      y,
      colour: '#15803d',
      label: `${advice.verdict === 'keep' ? 'kept' : 'advised'}: ttl ${showMs(advice.ttlMs)}`,
      row: 0,
    }),
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 16}" text-anchor="middle" fill="#1c2430">takeover, median</text>`,
    `<text transform="translate(20 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle" fill="#1c2430">false losses per 1,000 lease-days</text>`,
    '</svg>',
    '',
  ].join('\n');
}

function takeover({ takeoverP50Ms }: Prediction): number {
  return takeoverP50Ms;
}

function losses({ falseLossesPer1000LeaseDays }: Prediction): number {
  return Math.max(LOSSES_MIN, falseLossesPer1000LeaseDays.mean);
}

function logAxis(
  values: readonly number[],
  place: { readonly from: number; readonly to: number },
): Axis {
  const low = Math.log10(Math.min(...values));
  const high = Math.max(low + 1, Math.log10(Math.max(...values)));
  return {
    from: 10 ** low,
    to: 10 ** high,
    at: (value) =>
      place.from + ((Math.log10(value) - low) / (high - low)) * (place.to - place.from),
  };
}

function ticks(x: Axis, y: Axis): readonly string[] {
  const lines: string[] = [];
  for (const value of decades(x)) {
    const at = x.at(value).toFixed(1);
    lines.push(
      `<line x1="${at}" x2="${at}" y1="${TOP}" y2="${HEIGHT - BOTTOM}" stroke="#e3e8ef"/>`,
      `<text x="${at}" y="${HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#5b6675">${showMs(value)}</text>`,
    );
  }
  for (const value of decades(y)) {
    const at = y.at(value).toFixed(1);
    lines.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at}" y2="${at}" stroke="#e3e8ef"/>`,
      `<text x="${LEFT - 8}" y="${Number(at) + 4}" text-anchor="end" fill="#5b6675">${value <= LOSSES_MIN ? `≤ ${LOSSES_MIN}` : Number(value.toPrecision(2))}</text>`,
    );
  }
  return lines;
}

function decades({ from, to }: Axis): readonly number[] {
  const found: number[] = [];
  for (let power = Math.ceil(Math.log10(from) - 1e-9); 10 ** power <= to * 1.000001; power += 1) {
    found.push(10 ** power);
  }
  return found;
}

function line(points: readonly Candidate[], x: Axis, y: Axis): readonly string[] {
  const path = (wanted: readonly Candidate[], width: number): string => {
    const steps = wanted.map(({ predicted }, index) => {
      const place = `${x.at(takeover(predicted)).toFixed(1)} ${y.at(losses(predicted)).toFixed(1)}`;
      return `${index === 0 ? 'M' : 'L'}${place}`;
    });
    return `<path d="${steps.join(' ')}" fill="none" stroke="#2563eb" stroke-width="${width}" stroke-linejoin="round"/>`;
  };
  const allowed = points.filter(({ broken }) => broken.length === 0);
  return [path(points, 1), ...(allowed.length > 1 ? [path(allowed, 3)] : [])];
}

function mark(
  predicted: Prediction,
  style: {
    readonly x: Axis;
    readonly y: Axis;
    readonly colour: string;
    readonly label: string;
    readonly row: number;
  },
): string {
  const x = style.x.at(takeover(predicted));
  const y = style.y.at(losses(predicted));
  const anchor = x > (LEFT + WIDTH - RIGHT) / 2 ? 'end' : 'start';
  const textX = anchor === 'end' ? x - 10 : x + 10;
  // Place the labels one above the other, so that they stay readable if the points are close.
  const textY = Math.max(y - 10 - 16 * style.row, TOP + 12 + 16 * style.row);
  return (
    `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="6" fill="${style.colour}"/>` +
    `<text x="${textX.toFixed(1)}" y="${textY.toFixed(1)}" text-anchor="${anchor}" font-weight="600" fill="${style.colour}">${style.label}</text>`
  );
}
