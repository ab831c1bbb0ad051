// The waterfall: owners, refused writes, steps and waits, then compensations, on one axis of time.

import '../look/waterfall.css';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import { compressedScale, idleOf, isMostlyIdle, linearScale, type Range } from '../model/scale.ts';
import { type Waterfall, waterfallOf } from '../model/waterfall.ts';
import { durationText, plural } from '../model/words.ts';
import { Choice } from '../parts/choice.tsx';
import { useNow } from '../parts/now.ts';
import { goWith, useLocation } from '../router.tsx';
import { Axis } from './waterfall-axis.tsx';
import { type Line, linesOf, WaterfallLine } from './waterfall-lines.tsx';

interface WaterfallProps {
  readonly events: readonly HistoryMessage[];
  readonly refused?: readonly RefusedWriteMessage[];
  /** The selected event: its number, or `refused`. */
  readonly chosen?: string | undefined;
  readonly onChoose?: (event: string) => void;
}

const ROW = 26;

export function WaterfallView({
  events,
  refused = [],
  chosen,
  onChoose = () => undefined,
}: WaterfallProps): ReactNode {
  const known = useMemo(() => waterfallOf(events), [events]);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const range = useRange(known, refused);
  const { scale, kind, setKind, zoom } = useScale(known, range);
  const lines = useMemo(() => linesOf(known, { refused, open }), [known, refused, open]);
  const toggle = (key: string): void => {
    const others = [...open].filter((each) => each !== key);
    setOpen(new Set(open.has(key) ? others : [...others, key]));
  };
  return (
    <section className="card waterfall" aria-label="Timeline">
      <header className="waterfall-head">
        <h2>Timeline</h2>
        <p className="about">
          {durationText(range.toMs - range.fromMs)}
          {known.takeovers.length === 0 ? '' : ` · ${plural(known.takeovers.length, 'takeover')}`}
        </p>
        <Legend />
        {zoom === undefined ? null : (
          <button type="button" className="quiet" onClick={() => zoom(undefined)}>
            Reset zoom
          </button>
        )}
        <Choice
          label="Scale"
          options={[
            ['linear', 'Linear'],
            ['compressed', 'Compress idle'],
          ]}
          chosen={kind}
          onChoose={setKind}
        />
      </header>
      <Axis scale={scale.scale} onZoom={scale.onZoom} />
      <Lines
        lines={lines}
        chosen={chosen}
        line={(line) => (
          <WaterfallLine
            line={line}
            scale={scale.scale}
            toMs={range.toMs}
            takeovers={known.takeovers}
            workers={known.workers}
            isOpen={open.has(line.key)}
            isChosen={chosen !== undefined && line.events.has(chosen)}
            onChoose={() => {
              if (line.kind === 'fan-out') toggle(line.key);
              if (line.event !== undefined) onChoose(line.event);
            }}
          />
        )}
      />
    </section>
  );
}

/** From the submit to the last event, the last refused write or the last timer; at least until now if open. */
function useRange(known: Waterfall, refused: readonly RefusedWriteMessage[]): Range {
  const now = useNow();
  const late = refused.map(({ lastAt }) => Date.parse(lastAt));
  const toMs = Math.max(known.toMs, ...late, known.isOver || known.fromMs === 0 ? 0 : now);
  return useMemo(() => ({ fromMs: known.fromMs, toMs }), [known.fromMs, toMs]);
}

interface Scaled {
  readonly scale: { readonly scale: ReturnType<typeof linearScale>; readonly onZoom: Zoom };
  readonly kind: 'linear' | 'compressed';
  readonly setKind: (kind: 'linear' | 'compressed') => void;
  /** Defined while the axis shows a part. */
  readonly zoom: ((to: undefined) => void) | undefined;
}

export type Zoom = (part: Range | undefined) => void;

/** The scale and the visible part are in the URL, so that a link shows the same. */
function useScale(known: Waterfall, range: Range): Scaled {
  const location = useLocation();
  const idle = useMemo(() => idleOf(known, range), [known, range]);
  const typed = location.query.get('scale');
  const isCompressed = typed === null ? isMostlyIdle(idle, range) : typed === 'compressed';
  const [from, to] = (location.query.get('range') ?? '').split('-').map(Number);
  const part =
    from === undefined || to === undefined || !(to > from)
      ? undefined
      : { fromMs: known.fromMs + from, toMs: known.fromMs + to };
  const scale =
    part === undefined && isCompressed
      ? compressedScale(idle, range, known.fromMs)
      : linearScale(part ?? range, known.fromMs);
  const onZoom: Zoom = (shown) => {
    const text =
      shown === undefined
        ? undefined
        : `${Math.floor(shown.fromMs - known.fromMs)}-${Math.ceil(shown.toMs - known.fromMs)}`;
    goWith(location, { range: text });
  };
  return {
    scale: { scale, onZoom },
    kind: isCompressed ? 'compressed' : 'linear',
    setKind: (kind) => goWith(location, { scale: kind, range: undefined }),
    zoom: part === undefined ? undefined : onZoom,
  };
}

const LEGEND = [
  ['ok', 'ok'],
  ['failed', 'failed'],
  ['backoff', 'backoff'],
  ['waiting', 'waiting'],
  ['undo', 'compensation'],
  ['lost', 'lease lost'],
] as const;

function Legend(): ReactNode {
  return (
    <ul className="legend" aria-label="Legend">
      {LEGEND.map(([spent, label]) => (
        <li key={spent}>
          <span className={`swatch bar-${spent}`} /> {label}
        </li>
      ))}
    </ul>
  );
}

interface LinesProps {
  readonly lines: readonly Line[];
  readonly chosen: string | undefined;
  readonly line: (line: Line) => ReactNode;
}

/** Only visible lines are rendered: a history can have thousands of steps. */
function Lines({ lines, chosen, line }: LinesProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 10,
  });
  const at = chosen === undefined ? -1 : lines.findIndex(({ events }) => events.has(chosen));
  // A link to an event shows its line.
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at);
  }, [at, rows]);
  return (
    // biome-ignore-start lint/a11y: scrolling content must be reachable by keyboard
    <div
      className="waterfall-lines"
      ref={scroller}
      tabIndex={0}
      role="group"
      aria-label="Timeline rows"
    >
      <ol style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const each = lines[index];
          const style: CSSProperties = { transform: `translateY(${start}px)` };
          return each === undefined ? null : (
            <li key={each.key} style={style}>
              {line(each)}
            </li>
          );
        })}
      </ol>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}
