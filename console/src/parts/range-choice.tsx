// The range of time of a page, in its address.

import type { ReactNode } from 'react';
import { goWith, type PageLocation } from '../router.tsx';
import { Choice } from './choice.tsx';

const MIN_MS = 60_000;
export const RANGES = [
  ['15m', '15 min', 15 * MIN_MS],
  ['1h', '1 h', 60 * MIN_MS],
  ['6h', '6 h', 360 * MIN_MS],
  ['24h', '24 h', 1_440 * MIN_MS],
  ['7d', '7 d', 10_080 * MIN_MS],
] as const;
const DEFAULT_RANGE = '1h';

export interface ChosenRange {
  readonly rangeMs: number;
  /** Undefined: until now. */
  readonly to: string | undefined;
  /** Empty if it was brushed on a chart. */
  readonly range: string;
}

/** A brushed range has a start and an end in the URL; a chosen one moves with time. */
export function rangeIn({ query }: PageLocation): ChosenRange {
  const [from, to] = [query.get('from'), query.get('to')];
  const brushedMs = from === null || to === null ? 0 : Date.parse(to) - Date.parse(from);
  if (to !== null && brushedMs >= MIN_MS) return { rangeMs: brushedMs, to, range: '' };
  const range = query.get('range') ?? DEFAULT_RANGE;
  const found = RANGES.find(([name]) => name === range) ?? RANGES[1];
  return { rangeMs: found[2], to: undefined, range: found[0] };
}

export function RangeChoice({ location }: { readonly location: PageLocation }): ReactNode {
  return (
    <Choice
      label="Range"
      options={RANGES.map(([name, text]) => [name, text] as const)}
      chosen={rangeIn(location).range as '1h'}
      onChoose={(name) => goWith(location, { range: name, from: undefined, to: undefined })}
    />
  );
}
