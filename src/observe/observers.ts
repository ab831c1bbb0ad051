// Combines several observers into one. Each gets every report. An error of one reaches neither the
// others nor the library (O-4).

import { callSafely, type LeaseObserver, type LeaseReport } from '../lease/observer.ts';
import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';

/**
 * Combines several observers into one. Throws `InvalidInput` if one has no `report`.
 *
 * @example
 * const both = observers(recordLeases({ file: './leases.log' }), { report: (report) => console.log(report.kind) });
 */
export function observers(...all: readonly LeaseObserver[]): LeaseObserver {
  for (const each of all) {
    if (typeof each?.report === 'function') continue;
    throw new InvalidInput(`observers: each must have a function report; got ${shown(each)}.`);
  }
  return {
    report(report: LeaseReport): void {
      for (const each of all) {
        callSafely(
          () => each.report(report),
          () => undefined,
        );
      }
    },
  };
}
