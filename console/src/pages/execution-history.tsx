// The history of one execution, of any length: only the visible rows are rendered. Refused writes are shown
// among its events, although they are not part of it.

import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import {
  detailOf,
  isBookkeeping,
  ownersOf,
  stepOf,
  timeOf,
  titleOf,
  toneOf,
} from '../model/events.ts';
import { durationText, shownFence } from '../model/words.ts';
import { Choice } from '../parts/choice.tsx';
import { JsonView } from '../parts/json.tsx';
import { Fence, MsTime } from '../parts/marks.tsx';
import { Empty } from '../parts/notes.tsx';
import { goWith, useLocation } from '../router.tsx';
import { REFUSED } from './waterfall-lines.tsx';

const ROW = 32;
const HEIGHT_MAX = 480;

interface HistoryProps {
  readonly events: readonly HistoryMessage[];
  readonly refused?: readonly RefusedWriteMessage[];
  /** Shown while there are no events. */
  readonly empty?: string;
  readonly chosen?: string | undefined;
  readonly onChoose?: (event: string) => void;
}

const MODES = [
  ['compact', 'Compact'],
  ['all', 'All events'],
  ['json', 'JSON'],
] as const;

export function HistoryTable(props: HistoryProps): ReactNode {
  const location = useLocation();
  const mode = location.query.get('history') ?? 'compact';
  const [text, setText] = useState('');
  const { events, refused = [], empty = 'Loading history…' } = props;
  const rows = useMemo(
    () => rowsOf({ events, refused }, { isCompact: mode === 'compact', text }),
    [events, refused, mode, text],
  );
  if (events.length === 0) return <Empty title={empty} />;
  return (
    <>
      <div className="history-tools">
        <Choice
          label="History as"
          options={MODES}
          chosen={mode as 'compact'}
          onChoose={(name) => goWith(location, { history: name === 'compact' ? undefined : name })}
        />
        <input
          className="history-filter"
          aria-label="Filter events"
          placeholder="Filter…"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {mode === 'json' ? (
        <JsonView value={events} label="History" />
      ) : (
        <Rows rows={rows} {...props} />
      )}
    </>
  );
}

interface HistoryRow {
  /** The number of the event, or `refused`. */
  readonly key: string;
  readonly atMs: number;
  readonly at: string;
  readonly seq: string;
  readonly title: string;
  readonly tone: string;
  readonly step: string;
  readonly detail: string;
  readonly worker: string;
  readonly fence: number | undefined;
  readonly isOld: boolean;
}

interface RowsOptions {
  readonly isCompact: boolean;
  readonly text: string;
}

function rowsOf(
  { events, refused }: Required<Pick<HistoryProps, 'events' | 'refused'>>,
  { isCompact, text }: RowsOptions,
): readonly HistoryRow[] {
  const owners = ownersOf(events);
  const rows = events
    .filter((event) => !isCompact || !isBookkeeping(event))
    .map((event) => ({
      ...{ key: String(event.seq), seq: String(event.seq), at: event.at, atMs: timeOf(event) },
      ...{ title: titleOf(event), tone: toneOf(event), step: stepOf(event) },
      ...{ detail: detailOf(event), fence: event.fence, isOld: false },
      worker: owners.get(event.fence ?? 0) ?? '',
    }));
  const late = refused.map((write) => ({
    ...{ key: REFUSED, seq: '–', at: write.lastAt, atMs: Date.parse(write.lastAt) },
    ...{ title: 'Late write refused', tone: 'bad', step: '', worker: write.owner },
    detail: `${write.owner} wrote with fence ${shownFence(write.fence)}; nothing was changed`,
    ...{ fence: write.fence, isOld: true },
  }));
  const typed = text.trim().toLowerCase();
  return [...rows, ...late]
    .toSorted((one, other) => one.atMs - other.atMs)
    .filter(({ title, step, detail, worker }) =>
      `${title} ${step} ${detail} ${worker}`.toLowerCase().includes(typed),
    );
}

const COLUMNS = ['#', 'Time', 'Δ', 'Event', 'Step', 'Detail', 'Worker', 'Fence'] as const;

interface RowsProps extends Pick<HistoryProps, 'chosen' | 'onChoose'> {
  readonly rows: readonly HistoryRow[];
}

function Rows({ rows, chosen, onChoose = () => undefined }: RowsProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 16,
  });
  const at = rows.findIndex(({ key }) => key === chosen);
  useEffect(() => {
    if (at >= 0) list.scrollToIndex(at);
  }, [at, list]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const change = STEPS[event.key];
    const next = change === undefined ? undefined : rows[Math.max(0, at + change)];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onChoose(next.key);
  };
  return (
    // biome-ignore-start lint/a11y: a grid of divs with the roles of a table, so that rows can be positioned
    <div
      className="history-list"
      ref={scroller}
      role="group"
      tabIndex={0}
      aria-label="History, select with the arrow keys"
      onKeyDown={onKeyDown}
      style={{ height: Math.min(HEIGHT_MAX, list.getTotalSize() + ROW + 2) }}
    >
      <div role="table" aria-label="History" aria-rowcount={rows.length + 1}>
        <div role="rowgroup" className="history-head">
          <div role="row" className="event">
            {COLUMNS.map((title) => (
              <span role="columnheader" key={title}>
                {title}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="history-rows" style={{ height: list.getTotalSize() }}>
          {list.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <EventRow
                key={`${row.key}${row.at}`}
                row={row}
                index={index}
                start={start}
                afterMs={index === 0 ? undefined : row.atMs - (rows[index - 1]?.atMs ?? 0)}
                isChosen={row.key === chosen}
                onChoose={() => onChoose(row.key)}
              />
            );
          })}
        </div>
      </div>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

interface EventRowProps {
  readonly row: HistoryRow;
  readonly index: number;
  readonly start: number;
  readonly afterMs: number | undefined;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function EventRow({ row, index, start, afterMs, isChosen, onChoose }: EventRowProps): ReactNode {
  return (
    // biome-ignore-start lint/a11y: the list handles the keys of its rows
    <div
      role="row"
      className={isChosen ? 'event event-chosen' : 'event'}
      aria-rowindex={index + 2}
      aria-current={isChosen ? 'true' : undefined}
      style={{ transform: `translateY(${start}px)` }}
      onClick={onChoose}
    >
      <span role="cell" className="event-seq">
        {row.seq}
      </span>
      <span role="cell">
        <MsTime at={row.at} />
      </span>
      <span role="cell" className="about">
        {afterMs === undefined ? '' : `+${durationText(afterMs)}`}
      </span>
      <span role="cell" className={`event-kind tone-${row.tone}`}>
        {row.title}
      </span>
      <span role="cell" className="mono event-cut" title={row.step}>
        {row.step}
      </span>
      <span role="cell" className="event-cut event-detail" title={row.detail}>
        {row.detail}
      </span>
      <span role="cell" className="event-cut" title={row.worker}>
        {row.worker}
      </span>
      <span role="cell">
        {row.fence === undefined ? null : <Fence fence={row.fence} isOld={row.isOld} />}
      </span>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}
