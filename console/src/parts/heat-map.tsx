// The heartbeat heat map: one row for each session, one cell for each 2.5 seconds, with refused writes.

import { type ReactNode, useMemo } from 'react';
import { requestTo } from '../../../src/protocol/messages/request.ts';
import { itemsOf, usePages, useRead } from '../api/reads.ts';
import { type Beat, CELL_MS, CELLS, Heartbeats } from '../model/heartbeats.ts';
import { plural } from '../model/words.ts';
import { useNow } from './now.ts';

const seen = new Heartbeats();
const POLL_MS = 1_000;
const REFUSED_MS = 2_000;

const WORDS: Readonly<Record<Beat, string>> = {
  ok: 'heartbeat in time',
  late: 'heartbeat late',
  lost: 'no heartbeat: lapsed, overdue or ended',
  unknown: 'not observed',
};

export function HeatMap(): ReactNode {
  const read = usePages(requestTo('GET /v1/sessions', { limit: 200 }), { everyMs: POLL_MS });
  const refused = useRead(requestTo('GET /v1/refused-writes', { limit: 50 }), {
    everyMs: REFUSED_MS,
  });
  const now = useNow();
  const { data, dataUpdatedAt } = read;
  // While it renders, so that the rows are there from the start.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each reading counts once
  useMemo(() => {
    if (data !== undefined) seen.note(itemsOf(read), dataUpdatedAt);
  }, [dataUpdatedAt]);
  const rows = seen.rows(now);
  const lost = rows.filter(({ cells }) => cells.includes('lost')).length;
  return (
    <section className="card heat" aria-label="Heartbeats">
      <header className="section-head">
        <h2>Heartbeats, last {(CELLS * CELL_MS) / 1_000} s</h2>
        <span className={lost === 0 ? 'about' : 'bad'}>{plural(lost, 'lapse')}</span>
      </header>
      {rows.length === 0 ? <p className="about">No sessions</p> : null}
      {rows.map(({ id, owner, cells }) => (
        <div key={id} className="heat-row">
          <span className="mono heat-name" title={id}>
            {owner}
          </span>
          <span className="heat-cells" role="img" aria-label={`${owner}: ${textOf(cells)}`}>
            {cells.map((beat, index) => {
              const fromMs = (Math.floor(now / CELL_MS) - CELLS + 1 + index) * CELL_MS;
              const late = refused.data?.items.find(
                (write) => write.session === id && isIn(Date.parse(write.lastAt), fromMs),
              );
              return (
                <span
                  key={fromMs}
                  className={`heat-cell heat-${beat}`}
                  title={late === undefined ? WORDS[beat] : 'late write refused'}
                >
                  {late === undefined ? '' : '✕'}
                </span>
              );
            })}
          </span>
        </div>
      ))}
      <p className="about heat-note">
        Green: in time. Amber: late. Red: lapsed. ✕: a late write was refused. Grey: not observed by
        this browser.
      </p>
    </section>
  );
}

function isIn(ms: number, fromMs: number): boolean {
  return ms >= fromMs && ms < fromMs + CELL_MS;
}

function textOf(cells: readonly Beat[]): string {
  const lost = cells.filter((each) => each === 'lost').length;
  return lost === 0 ? 'all heartbeats in time' : `no heartbeat for ${(lost * CELL_MS) / 1_000} s`;
}
