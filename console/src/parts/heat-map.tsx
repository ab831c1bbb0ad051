// The heartbeat heat map: one row for each session, as the coordinator observed it, with ends and refused
// writes.

import type { ReactNode } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import type { HeartbeatsMessage } from '../../../src/protocol/messages/sessions.ts';
import { useRead } from '../api/reads.ts';
import { timeText } from '../model/time-text.ts';
import { durationText, plural, shownFence } from '../model/words.ts';
import { Time } from './marks.tsx';
import { ProblemNote } from './notes.tsx';

/** The coordinator reads the sessions as often. */
const POLL_MS = 5_000;

type Row = HeartbeatsMessage['items'][number];

interface CellStyle {
  readonly style: string;
  readonly text: string;
}

const UNKNOWN: CellStyle = { style: 'unknown', text: 'not observed' };
const STYLES: Readonly<Record<string, CellStyle>> = {
  o: { style: 'ok', text: 'heartbeats in time' },
  l: { style: 'late', text: 'heartbeat late' },
  x: { style: 'lost', text: 'no heartbeat: lapsed or overdue' },
};

interface HeatMapProps {
  readonly rangeMs: number;
  /** The end of the range; now by default. */
  readonly to?: string | undefined;
  /** Shown below once the rows are there, so that nothing moves. */
  readonly children?: ReactNode;
}

export function HeatMap({ rangeMs, to, children }: HeatMapProps): ReactNode {
  const { data, error } = useRead(requestTo('GET /v1/heartbeats', { rangeMs, to }), {
    everyMs: POLL_MS,
  });
  const { items = [], observedSince, isCut } = data ?? {};
  const lost = items.filter(({ cells }) => cells.includes('x')).length;
  return (
    <>
      <section className="card heat" aria-label="Heartbeats">
        <header className="section-head">
          <h2>
            Heartbeats, {to === undefined ? 'last ' : ''}
            {durationText(rangeMs)}
          </h2>
          <span className={lost === 0 ? 'about' : 'bad'}>
            {plural(lost, 'session')} lapsed{isCut ? `, of the ${items.length} shown` : ''}
          </span>
        </header>
        <ProblemNote error={error} />
        {data !== undefined && items.length === 0 ? <p className="about">No sessions</p> : null}
        {items.map((row) => (
          <HeatRow key={row.session} row={row} of={data as HeartbeatsMessage} />
        ))}
        <p className="about heat-note">
          Green: in time. Amber: late. Red: lapsed. ▲: session lost, others take over. ✕: late write
          refused. Grey: not open, or not observed
          {observedSince === undefined ? (
            ''
          ) : (
            <>
              {' '}
              before <Time at={observedSince} />
            </>
          )}
          .
        </p>
      </section>
      {data === undefined && error === null ? null : children}
    </>
  );
}

function HeatRow({ row, of }: { readonly row: Row; readonly of: HeartbeatsMessage }): ReactNode {
  const { session, owner, cells } = row;
  const first = Date.parse(of.from);
  return (
    <div className="heat-row">
      <span className="mono heat-name" title={session}>
        {owner}
      </span>
      <span
        className="heat-cells"
        role="img"
        aria-label={`${owner}: ${textOf(row, of.cellMs)}`}
        style={{ gridTemplateColumns: `repeat(${cells.length}, minmax(0, 1fr))` }}
      >
        {[...cells].map((letter, index) => {
          const fromMs = first + index * of.cellMs;
          const { style, text } = STYLES[letter] ?? UNKNOWN;
          const mark = markIn(row, (at) => isIn(Date.parse(at), fromMs, of.cellMs));
          const at = timeText('full', fromMs);
          return (
            <span
              key={fromMs}
              className={`heat-cell heat-${style}${mark === undefined ? '' : ' heat-marked'}`}
              title={`${at}: ${mark === undefined ? text : mark.text}`}
            >
              {mark?.sign}
            </span>
          );
        })}
      </span>
    </div>
  );
}

interface Mark {
  readonly sign: string;
  readonly text: string;
}

/** A refused write hides the end of the session: it is rarer. */
function markIn({ end, refused }: Row, isHere: (at: string) => boolean): Mark | undefined {
  const late = refused.find(({ at }) => isHere(at));
  if (late !== undefined) {
    const { fence, newest } = late;
    const fences = newest === undefined ? '' : ` (${shownFence(fence)} < ${shownFence(newest)})`;
    return { sign: '✕', text: `late write refused${fences}` };
  }
  const isLost = end !== undefined && LOST.has(end.exit) && isHere(end.at);
  return isLost ? { sign: '▲', text: 'session lost, others take over' } : undefined;
}

const LOST: ReadonlySet<string> = new Set(['expired', 'revoked']);

function isIn(ms: number, fromMs: number, cellMs: number): boolean {
  return ms >= fromMs && ms < fromMs + cellMs;
}

function textOf({ cells, end, refused }: Row, cellMs: number): string {
  const lost = [...cells].filter((each) => each === 'x').length;
  return [
    lost === 0 ? 'all heartbeats in time' : `lapsed for up to ${durationText(lost * cellMs)}`,
    ...(end !== undefined && LOST.has(end.exit) ? ['session lost'] : []),
    ...(refused.length === 0 ? [] : [`${plural(refused.length, 'late write')} refused`]),
  ].join(', ');
}
