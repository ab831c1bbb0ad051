// The curves of the TTL advisor: takeover time against the rate at which live holders lose leases. Pure.

import type { AdvisedMessage } from '../../../src/protocol/messages/advice.ts';

export type Recommended = Extract<AdvisedMessage['advice'], { readonly kind: 'recommendation' }>;

export interface TradeOff {
  /** The takeover p50 of each point in milliseconds, ascending. */
  readonly across: readonly number[];
  readonly kept: readonly (number | null)[];
  readonly broken: readonly (number | null)[];
  readonly now: readonly (number | null)[];
  readonly advised: readonly (number | null)[];
}

/** The floor of the chart, in losses per 1,000 lease-days: below it, differences do not matter. */
export const LOSSES_MIN = 0.01;

export function tradeOffOf({ points, current, predicted }: Recommended): TradeOff {
  const sorted = [...points].sort((one, other) => one.takeoverP50Ms - other.takeoverP50Ms);
  const across = [
    ...new Set([...sorted, current, predicted].map(({ takeoverP50Ms }) => takeoverP50Ms)),
  ].sort((one, other) => one - other);
  const at = new Map(sorted.map((each) => [each.takeoverP50Ms, each]));
  const shown = (losses: number): number => Math.max(LOSSES_MIN, losses);
  const only = (point: { readonly takeoverP50Ms: number; readonly falseLosses: number }) =>
    across.map((each) => (each === point.takeoverP50Ms ? shown(point.falseLosses) : null));
  const line = (keeps: boolean) =>
    across.map((each) => {
      const point = at.get(each);
      return point === undefined || point.keeps !== keeps ? null : shown(point.falseLosses);
    });
  return {
    ...{ across, kept: line(true), broken: line(false) },
    ...{ now: only(current), advised: only(predicted) },
  };
}
