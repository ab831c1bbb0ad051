// The history of one execution, of any length: only the rows that can be seen are there.

import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef, useState } from 'react';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { JsonView } from '../parts/json.tsx';
import { Fence, Time } from '../parts/marks.tsx';
import { Empty } from '../parts/notes.tsx';

const ROW = 32;
const HEIGHT_MAX = 480;

export function HistoryTable({
  events,
  empty = 'Its history is being read',
}: {
  readonly events: readonly HistoryMessage[];
  /** Shown while there are none. */
  readonly empty?: string;
}): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<number>();
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 16,
  });
  const event = events.find(({ seq }) => seq === chosen);
  if (events.length === 0) return <Empty title={empty} />;
  return (
    <div className="history">
      <section
        className="history-list"
        ref={scroller}
        aria-label="History"
        style={{ height: Math.min(HEIGHT_MAX, rows.getTotalSize() + 2) }}
      >
        <ol style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const each = events[index];
            return each === undefined ? null : (
              <li key={each.seq} style={{ transform: `translateY(${start}px)` }}>
                <EventRow
                  event={each}
                  isChosen={each.seq === chosen}
                  onChoose={() => setChosen(each.seq)}
                />
              </li>
            );
          })}
        </ol>
      </section>
      <aside className="history-body" aria-label="The chosen event">
        {event === undefined ? (
          <p className="about">Choose an event to see what it says.</p>
        ) : (
          <>
            <h3>
              {event.kind} {event.name}
            </h3>
            <JsonView
              key={event.seq}
              value={event.body ?? null}
              label={`Body of event ${event.seq}`}
            />
          </>
        )}
      </aside>
    </div>
  );
}

const BAD = new Set(['step-failed', 'failed', 'quarantined', 'blocked']);
const GOOD = new Set(['step-completed', 'completed']);

interface EventBody {
  readonly previous?: string;
  /** Of a line of ctx.log. */
  readonly log?: string;
}

export function isLog({ kind }: HistoryMessage): boolean {
  return kind === 'progressed';
}

function EventRow({
  event,
  isChosen,
  onChoose,
}: {
  readonly event: HistoryMessage;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}): ReactNode {
  const { previous, log } = (event.body ?? {}) as EventBody;
  const isTakeover = event.kind === 'claimed' && previous === 'lost';
  const tone = BAD.has(event.kind) || isTakeover ? 'bad' : GOOD.has(event.kind) ? 'good' : 'plain';
  return (
    <button type="button" className="event" aria-pressed={isChosen} onClick={onChoose}>
      <span className="event-seq">{event.seq}</span>
      <Time at={event.at} />
      <span className={`event-kind event-${tone}`}>
        {isTakeover ? 'taken over' : isLog(event) ? 'log' : event.kind}
      </span>
      <span className="event-name" title={log}>
        {log ?? event.name}
      </span>
      {event.fence === undefined ? null : <Fence fence={event.fence} />}
    </button>
  );
}
