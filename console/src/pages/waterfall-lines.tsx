// One line of the waterfall.

import type { CSSProperties, ReactNode } from 'react';
import type { RefusedWriteMessage } from '../../../src/features/audit/messages.ts';
import type { Scale } from '../model/scale.ts';
import {
  type Row,
  type RowKind,
  rangeOf,
  type Span,
  type Takeover,
  type Waterfall,
} from '../model/waterfall.ts';
import { countText, durationText, plural, shownFence } from '../model/words.ts';
import { percent } from './waterfall-axis.tsx';

export interface Line {
  readonly key: string;
  readonly kind: RowKind | 'refused' | 'heading';
  readonly name: string;
  readonly row?: Row;
  readonly refused?: readonly RefusedWriteMessage[];
  /** The event that the line selects. */
  readonly event?: string;
  /** The events that belong to the line. */
  readonly events: ReadonlySet<string>;
}

interface LinesOptions {
  readonly refused: readonly RefusedWriteMessage[];
  /** Fan-outs that show their children. */
  readonly open: ReadonlySet<string>;
}

/** The query value that selects the refused writes, which are not in the history. */
export const REFUSED = 'refused';

export function linesOf(known: Waterfall, { refused, open }: LinesOptions): readonly Line[] {
  return [
    lineOf(known.owner),
    ...(refused.length === 0
      ? []
      : [
          {
            ...({ key: REFUSED, kind: 'refused', name: 'Refused write', refused } as const),
            ...{ event: REFUSED, events: new Set([REFUSED]) },
          },
        ]),
    ...known.rows.flatMap((row, index) => {
      const next = known.rows[index + 1];
      const mark = !row.isParallel ? '' : next?.isParallel === true ? '├ ' : '└ ';
      const children = open.has(row.key) ? (row.children ?? []) : [];
      return [lineOf(row, mark), ...children.map((child) => lineOf(child, '    '))];
    }),
    ...(known.compensation.length === 0
      ? []
      : [{ key: 'compensation', kind: 'heading', name: 'Compensation', events: NONE } as const]),
    ...known.compensation.map((row) => lineOf(row, '↶ ')),
  ];
}

const NONE: ReadonlySet<string> = new Set();

function lineOf(row: Row, mark = ''): Line {
  const { key, kind, name, seq, spans } = row;
  return {
    ...{ key, kind, name: `${mark}${name}`, row },
    ...(seq === 0 ? {} : { event: String(seq) }),
    events: new Set(spans.map((span) => String(span.seq))),
  };
}

interface LineProps {
  readonly line: Line;
  readonly scale: Scale;
  readonly toMs: number;
  readonly takeovers: readonly Takeover[];
  readonly workers: number;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

export function WaterfallLine(props: LineProps): ReactNode {
  const { line, isOpen, isChosen, onChoose } = props;
  if (line.kind === 'heading') return <p className="line line-heading">{line.name}</p>;
  const { row } = line;
  return (
    <button
      type="button"
      className={`line line-${line.kind}${isChosen ? ' line-chosen' : ''}`}
      aria-pressed={isChosen}
      {...(line.kind === 'fan-out' ? { 'aria-expanded': isOpen } : {})}
      onClick={onChoose}
    >
      <span className="line-name" title={row?.key ?? line.name}>
        {line.kind === 'fan-out' ? (isOpen ? '▾ ' : '▸ ') : ''}
        {line.name}
        {row !== undefined && row.attempts > 1 ? (
          <span className="badge-count">{row.attempts}</span>
        ) : null}
        {row?.counts === undefined ? null : (
          <span className="badge-count">{countText(row.counts.all)}</span>
        )}
      </span>
      <Track {...props} />
      <span className="line-took">
        <Took {...props} />
      </span>
    </button>
  );
}

function Track({ line, scale, toMs, takeovers }: LineProps): ReactNode {
  const { row, refused = [] } = line;
  return (
    <span className="track">
      {scale.ticks.map(({ at }) => (
        <span key={at} className="grid-line" style={{ insetInlineStart: percent(at) }} />
      ))}
      {scale.breaks.map(({ from, to, label }) => (
        <span
          key={from}
          className="break"
          style={{ insetInlineStart: percent(from), width: percent(to - from) }}
          title={`${label} idle`}
        >
          {line.kind === 'owner' ? label : ''}
        </span>
      ))}
      {row?.counts === undefined ? (
        row?.spans.map((span) => (
          <Bar key={`${span.seq}${span.spent}`} span={span} scale={scale} toMs={toMs} />
        ))
      ) : (
        <FanOutBar row={row} scale={scale} toMs={toMs} />
      )}
      {line.kind === 'owner'
        ? takeovers.map(({ atMs, fence }) => (
            <span
              key={fence}
              className="takeover"
              style={{ insetInlineStart: percent(scale.at(atMs)) }}
              title={`Takeover: fence ${shownFence(fence)} owns the execution from here; writes by the previous owner are refused.`}
            />
          ))
        : null}
      {refused.map((write) => (
        <RefusedMark key={`${write.session}${write.verb}${write.fence}`} {...{ write, scale }} />
      ))}
    </span>
  );
}

function placed(span: Span, { at }: Scale, toMs: number): CSSProperties {
  const from = at(span.fromMs);
  return {
    insetInlineStart: percent(from),
    width: `max(3px, ${percent(Math.max(0, at(span.toMs ?? toMs) - from))})`,
  };
}

interface BarProps {
  readonly span: Span;
  readonly scale: Scale;
  readonly toMs: number;
}

function Bar({ span, scale, toMs }: BarProps): ReactNode {
  const took = durationText((span.toMs ?? toMs) - span.fromMs);
  const text = `${span.label}, ${took}${span.toMs === undefined ? ' (running)' : ''}`;
  const isOwner = span.spent === 'owned' || span.spent === 'lost';
  return (
    <span className={`bar bar-${span.spent}`} style={placed(span, scale, toMs)} title={text}>
      <span className={isOwner ? 'bar-text' : 'hidden'}>{isOwner ? span.label : text}</span>
    </span>
  );
}

interface FanOutBarProps {
  readonly row: Row;
  readonly scale: Scale;
  readonly toMs: number;
}

function FanOutBar({ row, scale, toMs }: FanOutBarProps): ReactNode {
  const [span] = row.spans;
  const { counts = { all: 1, ok: 0, bad: 0 } } = row;
  if (span === undefined) return null;
  return (
    <span className="bar bar-stack" style={placed(span, scale, toMs)} title={span.label}>
      <span className="bar-ok" style={{ flexGrow: counts.ok }} />
      <span className="bar-failed" style={{ flexGrow: counts.bad }} />
      <span className="bar-queued" style={{ flexGrow: counts.all - counts.ok - counts.bad }} />
    </span>
  );
}

interface RefusedMarkProps {
  readonly write: RefusedWriteMessage;
  readonly scale: Scale;
}

const RIGHT_HALF = 0.5;

function RefusedMark({ write, scale }: RefusedMarkProps): ReactNode {
  const at = scale.at(Date.parse(write.lastAt));
  const isRight = at > RIGHT_HALF;
  const { newest } = write;
  const text = `${write.owner} wrote with fence ${shownFence(write.fence)}${newest === undefined ? '' : `, current is ${shownFence(newest)}`}`;
  const style: CSSProperties = isRight
    ? { insetInlineEnd: percent(1 - at) }
    : { insetInlineStart: percent(at) };
  return (
    <span className={isRight ? 'refused refused-left' : 'refused'} style={style} title={text}>
      <span className="refused-cross">✕</span>
      <small>{text}</small>
    </span>
  );
}

function Took({ line, workers, toMs }: LineProps): ReactNode {
  const { row, refused } = line;
  if (line.kind === 'owner') return workers === 0 ? '' : plural(workers, 'worker');
  if (refused !== undefined) {
    return (
      <span className="bad">{countText(refused.reduce((sum, each) => sum + each.count, 0))}</span>
    );
  }
  if (row === undefined) return '';
  if (row.counts !== undefined) {
    const { ok, bad } = row.counts;
    return (
      <>
        <span className="good">{countText(ok)} ✓</span>{' '}
        {bad === 0 ? null : <span className="bad">{countText(bad)} ✕</span>}
      </>
    );
  }
  if (row.spans[0]?.spent === 'skipped') return 'not run';
  const range = rangeOf(row);
  const isRunning = !Number.isFinite(range.toMs);
  const text = durationText((isRunning ? toMs : range.toMs) - range.fromMs);
  const isGuess = !row.isExact && row.kind !== 'wait';
  return (
    <span
      className={row.failure === undefined ? '' : 'bad'}
      title={isGuess ? 'Upper limit: this history has no start times.' : undefined}
    >
      {isGuess ? '≤ ' : ''}
      {text}
    </span>
  );
}
