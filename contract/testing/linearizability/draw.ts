// Draws a violation as SVG: one lane for each client, a bar for each call.

import { type LinearizabilityViolation, momentsOf } from './check.ts';
import type { RecordedOperation } from './history.ts';

type Operation = RecordedOperation<unknown, unknown>;

/** Calls to draw before the failed one. */
const CALLS_MAX = 24;
const STEP = 34;
const LANE = 46;
const BAR = 22;
const LEFT = 110;
const TOP = 92;
const LINE = 19;
const RIGHT = 40;
/** About the width of a character. */
const CHARACTER = 7.5;

interface Bar {
  readonly operation: Operation;
  readonly from: number;
  readonly to: number;
  readonly y: number;
  /** Its place in the order, from one. Undefined: the order is without it. */
  readonly place: number | undefined;
}

/**
 * Returns a violation as SVG text. Each client has a lane, and each call a bar from its call to its
 * reply. A line passes through the calls in the longest order that explains their replies. The bar
 * without an explanation is red. The list below names each call.
 *
 * @example
 * import { writeFileSync } from 'node:fs';
 *
 * const result = checkLinearizability(leaseModel(), leaseHistory(events));
 * if (result.kind === 'violation') writeFileSync('violation.svg', drawViolation(result));
 */
export function drawViolation(violation: LinearizabilityViolation): string {
  const { failed, order, describe } = violation;
  const operations = drawnCalls(violation);
  const clients = [...new Set(operations.map(({ client }) => client))].sort();
  const placed = barsOf(violation, operations, clients);
  const bars = [...placed.values()];
  const bottom = TOP + clients.length * LANE;
  const inOrder = order.flatMap((operation) => placed.get(operation) ?? []);
  const rest = bars.filter(({ operation, place }) => place === undefined && operation !== failed);
  const lines = [
    ...inOrder.map(
      ({ operation, place }) => `${place}  ${operation.client}: ${describe(operation)}`,
    ),
    `✕  ${failed.client}: ${describe(failed)}. No order explains this reply.`,
    ...rest.map(
      ({ operation }) => `–  ${operation.client}: ${describe(operation)}. Not in the order.`,
    ),
  ];
  const height = bottom + 30 + lines.length * LINE + 20;
  const left = violation.operations.length - operations.length;
  const head = [
    `${violation.part === '' ? 'The history' : `The history of "${violation.part}"`} is not linearizable.`,
    violation.message,
    left === 0
      ? 'Time goes to the right, not to scale.'
      : `Time goes to the right, not to scale. ${left} other calls are not drawn.`,
  ];
  const width = Math.max(
    ...bars.map(({ to }) => to + RIGHT),
    ...[...head, ...lines].map((line) => 40 + line.length * CHARACTER),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...head.map((line, index) =>
      text([16, 26 + index * LINE], line, index === 0 ? 'font-size="17" font-weight="bold"' : ''),
    ),
    ...clients.flatMap((client, index) => laneOf(client, TOP + index * LANE, width)),
    ...bars.map((bar) => drawnBar(bar, failed, describe(bar.operation))),
    drawnOrder(inOrder),
    ...lines.map((line, index) =>
      text(
        [16, bottom + 30 + index * LINE],
        line,
        line.startsWith('✕') ? 'fill="#b00020" font-weight="bold"' : '',
      ),
    ),
    '</svg>',
    '',
  ].join('\n');
}

/** The failed call, those that are concurrent with it, and the last ones before it. */
function drawnCalls({ operations, failed }: LinearizabilityViolation): readonly Operation[] {
  const end = failed.reply?.at ?? Number.POSITIVE_INFINITY;
  const begun = operations.filter(({ calledAt }) => calledAt <= end);
  const recent = begun
    .toSorted((a, b) => (a.reply?.at ?? end) - (b.reply?.at ?? end))
    .slice(-CALLS_MAX);
  return recent.includes(failed) ? recent : [...recent, failed];
}

function barsOf(
  { failed, order }: LinearizabilityViolation,
  operations: readonly Operation[],
  clients: readonly string[],
): ReadonlyMap<Operation, Bar> {
  const end = failed.reply?.at ?? Number.POSITIVE_INFINITY;
  const moments = momentsOf(operations).filter(({ at }) => at <= end);
  const at = new Map<Operation, { from: number; to: number }>();
  const edge = LEFT + moments.length * STEP;
  for (const [index, { operation, isReply }] of moments.entries()) {
    const x = LEFT + index * STEP;
    if (isReply) at.set(operation, { from: at.get(operation)?.from ?? x, to: x });
    else at.set(operation, { from: x, to: edge });
  }
  const places = new Map(order.map((operation, index) => [operation, index + 1]));
  return new Map(
    operations.map((operation) => {
      const { from = LEFT, to = edge } = at.get(operation) ?? {};
      const y = TOP + clients.indexOf(operation.client) * LANE + (LANE - BAR) / 2;
      return [operation, { operation, from, to, y, place: places.get(operation) }];
    }),
  );
}

function laneOf(client: string, y: number, width: number): readonly string[] {
  const middle = y + LANE / 2;
  return [
    `<line x1="${LEFT}" x2="${width}" y1="${middle}" y2="${middle}" stroke="#ddd"/>`,
    text([16, middle + 5], client),
  ];
}

function drawnBar(bar: Bar, failed: Operation, description: string): string {
  const { operation, from, to, y, place } = bar;
  const isFailed = operation === failed;
  const fill = isFailed ? '#fbd5d9' : place === undefined ? '#eee' : '#d7e6fb';
  const stroke = isFailed ? '#b00020' : place === undefined ? '#999' : '#3465a4';
  const open = operation.reply === undefined ? ' stroke-dasharray="4 3"' : '';
  const label = isFailed ? '✕' : (place ?? '–');
  return `<g><title>${escaped(description)}</title><rect x="${from}" y="${y}" width="${to - from}" height="${BAR}" rx="3" fill="${fill}" stroke="${stroke}"${open}/>${text([from + 5, y + 15], String(label), 'font-size="11"')}</g>`;
}

/** The moments at which the calls took effect, in their order. */
function drawnOrder(inOrder: readonly Bar[]): string {
  let x = 0;
  const points = inOrder.map(({ from, y }) => {
    x = Math.max(x + 5, from + 20);
    return `${x},${y + BAR / 2}`;
  });
  const dots = points.map((point) => {
    const [cx, cy] = point.split(',');
    return `<circle cx="${cx}" cy="${cy}" r="3" fill="#1d4f91"/>`;
  });
  return `<polyline points="${points.join(' ')}" fill="none" stroke="#1d4f91" stroke-width="1.2"/>${dots.join('')}`;
}

function text([x, y]: readonly [number, number], content: string, attributes = ''): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
