// The history of one execution, of any length: only the visible rows are rendered.

import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef, useState } from 'react';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { sentenceCase } from '../model/words.ts';
import { JsonView } from '../parts/json.tsx';
import { Fence, Time } from '../parts/marks.tsx';
import { Empty } from '../parts/notes.tsx';

const ROW = 32;
const HEIGHT_MAX = 480;

export function HistoryTable({
  events,
  empty = 'Loading history…',
}: {
  readonly events: readonly HistoryMessage[];
  /** Shown while there are no events. */
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
      <aside className="history-body" aria-label="Event details">
        {event === undefined ? (
          <p className="about">Select an event to see its details.</p>
        ) : (
          <>
            <h3>
              {titleOf(event)} {detailOf(event)}
            </h3>
            <JsonView
              key={event.seq}
              value={event.body ?? null}
              label={`Payload of event ${event.seq}`}
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
  readonly key?: string;
  readonly owner?: string;
  readonly previous?: string;
  readonly attempt?: number;
  /** A line of ctx.log. */
  readonly log?: string;
}

/** Event kinds whose code is not plain enough; the others are shown in sentence case. */
const TITLES: Readonly<Record<string, string>> = {
  'step-completed': 'Step succeeded',
  'timer-set': 'Timer started',
  parked: 'Released while waiting',
  'given-back': 'Released',
  'await-opened': 'Request opened',
  'await-settled': 'Request settled',
  'child-spawned': 'Child started',
  compensating: 'Compensation started',
  attached: 'Document attached',
  progressed: 'Log',
};

function bodyOf({ body }: HistoryMessage): EventBody {
  return (body ?? {}) as EventBody;
}

function isTakeover(event: HistoryMessage): boolean {
  return event.kind === 'claimed' && bodyOf(event).previous === 'lost';
}

function titleOf(event: HistoryMessage): string {
  if (isTakeover(event)) return 'Taken over';
  if (bodyOf(event).key?.startsWith('undo:')) {
    if (event.kind === 'step-completed') return 'Compensation succeeded';
    if (event.kind === 'step-failed') return 'Compensation failed';
  }
  return TITLES[event.kind] ?? sentenceCase(event.kind);
}

function detailOf(event: HistoryMessage): string | undefined {
  const { log, owner, attempt } = bodyOf(event);
  if (event.kind === 'claimed' && owner !== undefined) return `by ${owner}`;
  if (event.kind === 'step-failed' && attempt !== undefined)
    return `${event.name} (attempt ${attempt})`;
  return log ?? event.name;
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
  const isBad = BAD.has(event.kind) || isTakeover(event);
  const tone = isBad ? 'bad' : GOOD.has(event.kind) ? 'good' : 'plain';
  const detail = detailOf(event);
  return (
    <button type="button" className="event" aria-pressed={isChosen} onClick={onChoose}>
      <span className="event-seq">{event.seq}</span>
      <Time at={event.at} />
      <span className={`event-kind event-${tone}`}>{titleOf(event)}</span>
      <span className="event-name" title={detail}>
        {detail}
      </span>
      {event.fence === undefined ? null : <Fence fence={event.fence} />}
    </button>
  );
}
