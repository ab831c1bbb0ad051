// The timeline: owners, then steps and waits, then compensations.

import { type CSSProperties, type ReactNode, useMemo, useState } from 'react';
import type { HistoryMessage } from '../../../src/protocol/messages/execution.ts';
import {
  type Lane,
  type Span,
  scaleOf,
  shownFence,
  type Timeline,
  timelineOf,
} from '../model/timeline.ts';
import { durationText, plural } from '../model/words.ts';
import { useNow } from '../parts/now.ts';

export function TimelineView({
  events,
}: {
  readonly events: readonly HistoryMessage[];
}): ReactNode {
  const now = useNow();
  const [isCompressed, setCompressed] = useState(true);
  const known = useMemo(() => timelineOf(events), [events]);
  const toMs = known.isOver || events.length === 0 ? known.toMs : Math.max(known.toMs, now);
  const timeline = useMemo(() => ({ ...known, toMs }), [known, toMs]);
  const scale = useMemo(() => scaleOf(timeline, isCompressed), [timeline, isCompressed]);
  return (
    <section className="card timeline" aria-label="Timeline">
      <header className="timeline-head">
        <h2>Timeline</h2>
        <p className="about">
          {durationText(timeline.toMs - timeline.fromMs)}
          {timeline.takeovers.length === 0
            ? ''
            : ` · ${plural(timeline.takeovers.length, 'takeover')}`}
          {timeline.leftOut === 0 ? '' : ` · ${plural(timeline.leftOut, 'oldest row')} hidden`}
        </p>
        <label className="chip">
          <input
            type="checkbox"
            checked={!isCompressed}
            onChange={(event) => setCompressed(!event.target.checked)}
          />
          Linear time
        </label>
      </header>
      {/* biome-ignore-start lint/a11y: scrolling content must be reachable by keyboard */}
      <div className="lanes" tabIndex={0} role="group" aria-label="Timeline rows">
        <ol>
          {timeline.lanes.map((lane) => (
            <LaneRow key={lane.key} lane={lane} timeline={timeline} scale={scale} />
          ))}
        </ol>
      </div>
      {/* biome-ignore-end lint/a11y: see above */}
    </section>
  );
}

interface LaneProps {
  readonly lane: Lane;
  readonly timeline: Timeline;
  readonly scale: (ms: number) => number;
}

function LaneRow({ lane, timeline, scale }: LaneProps): ReactNode {
  return (
    <li className={`lane lane-${lane.kind}`}>
      <span className="lane-name" title={lane.key}>
        {lane.kind === 'undo' ? `↶ ${lane.name}` : lane.name}
      </span>
      <span className="lane-track">
        {lane.spans.map((span) => (
          <Bar key={`${span.seq}`} span={span} timeline={timeline} scale={scale} />
        ))}
        {lane.kind === 'owner'
          ? timeline.takeovers.map(({ atMs, fence }) => (
              <span
                key={fence}
                className="takeover"
                style={{ insetInlineStart: percent(scale(atMs)) }}
                title={`Takeover: fence ${shownFence(fence)} owns the execution from here; writes by the previous owner are refused.`}
              />
            ))
          : null}
      </span>
    </li>
  );
}

function Bar({
  span,
  timeline,
  scale,
}: Omit<LaneProps, 'lane'> & { readonly span: Span }): ReactNode {
  const from = scale(span.fromMs);
  const to = scale(span.toMs ?? timeline.toMs);
  const style: CSSProperties = {
    insetInlineStart: percent(from),
    width: `max(5px, ${percent(Math.max(0, to - from))})`,
  };
  const took = durationText((span.toMs ?? timeline.toMs) - span.fromMs);
  const text = `${span.label}, ${took}${span.toMs === undefined ? ' (running)' : ''}`;
  return (
    <span className={`bar bar-${span.spent}`} style={style} title={text}>
      <span className="hidden">{text}</span>
    </span>
  );
}

function percent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
