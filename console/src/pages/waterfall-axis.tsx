// The axis of the waterfall: labelled ticks, breaks in idle time, and a brush that zooms.

import { type PointerEvent, type ReactNode, useState } from 'react';
import type { Range, Scale } from '../model/scale.ts';

interface AxisProps {
  readonly scale: Scale;
  readonly onZoom: (part: Range) => void;
}

/** A shorter movement is a click. */
const BRUSH_MIN = 0.01;

export function Axis({ scale, onZoom }: AxisProps): ReactNode {
  const [brush, setBrush] = useState<{ readonly from: number; readonly to: number }>();
  const partOf = (event: PointerEvent<HTMLElement>): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const end = (): void => {
    if (brush === undefined) return;
    const [from, to] = [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
    setBrush(undefined);
    if (to - from > BRUSH_MIN) onZoom({ fromMs: scale.msAt(from), toMs: scale.msAt(to) });
  };
  return (
    <div className="axis line" aria-hidden="true">
      <span />
      <span
        className="axis-track"
        title="Drag to zoom"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setBrush({ from: partOf(event), to: partOf(event) });
        }}
        onPointerMove={(event) => brush && setBrush({ ...brush, to: partOf(event) })}
        onPointerUp={end}
        onPointerCancel={() => setBrush(undefined)}
      >
        {scale.ticks.map(({ at, label }) => (
          <span
            key={at}
            className={at < 0.02 ? 'tick tick-first' : at > 0.99 ? 'tick tick-last' : 'tick'}
            style={{ insetInlineStart: percent(at) }}
          >
            {label}
          </span>
        ))}
        {brush === undefined ? null : (
          <span
            className="brush"
            style={{
              insetInlineStart: percent(Math.min(brush.from, brush.to)),
              width: percent(Math.abs(brush.to - brush.from)),
            }}
          />
        )}
      </span>
      <span className="line-took">Duration</span>
    </div>
  );
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(3)}%`;
}
