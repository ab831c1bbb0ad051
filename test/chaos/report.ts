// The report of a run: a table for people, and a drawing of the throughput with the faults.

import type { Verdict } from './judge.ts';

const WIDTH = 960;
const HEIGHT = 260;
const EDGE = 40;

export function reportLines(verdict: Verdict): readonly string[] {
  const { executions, takeovers, staleFenced, staleUnfenced, recoveries, problems } = verdict;
  const { lost, epochs } = verdict;
  const kinds = [...new Set(recoveries.map(({ name }) => name))].sort();
  return [
    `${executions} executions, ${takeovers} takeovers.`,
    `Stale writes: ${staleUnfenced} in the unfenced ledger, ${staleFenced} in the fenced one.`,
    `Acknowledged and lost: ${lost.orders} executions, ${lost.signals} signals. Epochs: ${epochs.join(', ')}.`,
    '',
    '| Fault | Times | Store away | Slowest takeover |',
    '|---|---|---|---|',
    ...kinds.map((kind) => {
      const all = recoveries.filter(({ name }) => name === kind);
      const slowest = Math.max(...all.map(({ slowestMs }) => slowestMs ?? -1));
      const shown = slowest < 0 ? 'nothing was lost' : `${(slowest / 1_000).toFixed(1)} s`;
      const awayMs = Math.max(...all.map(({ countsFromMs, atMs }) => countsFromMs - atMs));
      const away = awayMs === 0 ? '–' : `${(awayMs / 1_000).toFixed(1)} s`;
      return `| ${kind} | ${all.length} | ${away} | ${shown} |`;
    }),
    '',
    ...problems.slice(0, 20).map((problem) => `✖ ${problem}`),
    problems.length === 0 ? 'No promise was broken.' : `${problems.length} problems.`,
  ];
}

/** Executions that ended in each second, with a band for each fault. */
export function throughputSvg({ endedAtMs, recoveries }: Verdict): string {
  const startMs = Math.min(...endedAtMs, ...recoveries.map(({ atMs }) => atMs));
  const endMs = Math.max(...endedAtMs, ...recoveries.map(({ overMs }) => overMs));
  const seconds = Math.ceil((endMs - startMs) / 1_000) + 1;
  const ended = Array.from({ length: seconds }, () => 0);
  for (const ms of endedAtMs) {
    const second = Math.floor((ms - startMs) / 1_000);
    ended[second] = (ended[second] ?? 0) + 1;
  }
  const most = Math.max(...ended, 1);
  const x = (ms: number): number =>
    EDGE + ((ms - startMs) / (seconds * 1_000)) * (WIDTH - 2 * EDGE);
  const y = (count: number): number => HEIGHT - EDGE - (count / most) * (HEIGHT - 2 * EDGE);
  const bands = recoveries.map(({ name, atMs, overMs }) => {
    const width = Math.max(x(overMs) - x(atMs), 2);
    return `<rect x="${x(atMs)}" y="${EDGE}" width="${width}" height="${HEIGHT - 2 * EDGE}" fill="#d9485f" opacity="0.18"><title>${name}</title></rect>`;
  });
  const points = ended.map((count, second) => `${x(startMs + second * 1_000)},${y(count)}`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    '<title>Executions that ended in each second, and the faults</title>',
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    ...bands,
    `<polyline points="${points.join(' ')}" fill="none" stroke="#2563a8" stroke-width="1.5"/>`,
    `<text x="${EDGE}" y="${EDGE - 12}">Executions ended per second (at most ${most}). Red: a fault lasts.</text>`,
    `<text x="${EDGE}" y="${HEIGHT - 12}">0 s</text>`,
    `<text x="${WIDTH - EDGE}" y="${HEIGHT - 12}" text-anchor="end">${seconds} s</text>`,
    '</svg>',
    '',
  ].join('\n');
}
