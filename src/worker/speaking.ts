// What whoever runs a worker must know although nobody observes it: a line on stderr, as Node has warnings.

import { type ExecutionObserver, type ExecutionReport, tell } from '../engine/observer.ts';
import { NOT_YET } from './greet.ts';

export function speaking(observer: ExecutionObserver | undefined): ExecutionObserver {
  return {
    report(report) {
      const line = lineOf(report);
      if (line !== undefined) process.emitWarning(line, 'HoldfastWarning');
      tell(observer, report);
    },
  };
}

function lineOf(report: ExecutionReport): string | undefined {
  if (report.kind === 'trouble' && report.what === NOT_YET) return `${NOT_YET}. ${report.cause}`;
  if (report.kind !== 'denied') return undefined;
  return `The coordinator does not let this worker in (${report.code}): its key has ended or expired, or does not allow it. What it had is taken over by others; it ends when this lasts longer than its ttl. ${report.why}`;
}
