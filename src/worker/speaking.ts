// What whoever runs a worker must know, whatever its observer does with it: a Node warning on stderr.

import { tell, warn } from '../engine/observer.ts';
import type { ExecutionObserver, ExecutionReport } from '../execution/report.ts';
import { NOT_YET } from './greet.ts';

export function speaking(observer: ExecutionObserver | undefined): ExecutionObserver {
  return {
    report(report) {
      if (observer === undefined || isUrgent(report)) warn(report);
      if (observer !== undefined) tell(observer, report);
    },
  };
}

function isUrgent(report: ExecutionReport): boolean {
  return report.kind === 'denied' || (report.kind === 'trouble' && report.what === NOT_YET);
}
