// How the engine tells whoever watches it: an observer cannot throw into the engine.

import type { ExecutionObserver, ExecutionReport } from '../execution/report.ts';
import { thrownText } from '../support/options.ts';

export type { ExecutionObserver, ExecutionReport } from '../execution/report.ts';

function ignored(): void {
  // As below.
}

export function tell(observer: ExecutionObserver | undefined, report: ExecutionReport): void {
  if (observer === undefined) return;
  try {
    const told: unknown = observer.report(report);
    if (told instanceof Promise) told.catch(ignored);
  } catch {
    // An observer's fault is its own; no execution is worth losing over a metric.
  }
}

/** Something failed that should not have; whatever was thrown. */
export function tellTrouble(
  observer: ExecutionObserver | undefined,
  what: string,
  fault: unknown,
): void {
  tell(observer, { kind: 'trouble', what, cause: thrownText(fault) });
}

/** For reports: in which trace, if in one. */
export function tracedBy({
  execution,
}: {
  readonly execution: { readonly traceparent?: string };
}): { readonly traceparent?: string } {
  const { traceparent } = execution;
  return traceparent === undefined ? {} : { traceparent };
}
