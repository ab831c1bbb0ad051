// Sends reports to the observer. Errors of an observer never reach the engine. Without an observer,
// problems become warnings.

import type { ExecutionRecord } from '../execution/execution.ts';
import type { PipelineName } from '../execution/names.ts';
import {
  type ClaimReport,
  type ExecutionObserver,
  type ExecutionReport,
  logLine,
  problemLine,
} from '../execution/report.ts';
import type { Fence } from '../lease/fence.ts';
import { type Code, entryOf } from '../support/codes/catalogue.ts';
import { thrownText } from '../support/options.ts';

function ignored(): void {
  // The engine does not depend on the result.
}

export function sendReport(observer: ExecutionObserver | undefined, report: ExecutionReport): void {
  if (observer === undefined) {
    warn(report);
    return;
  }
  try {
    const reported: unknown = observer.report(report);
    if (reported instanceof Promise) reported.catch(ignored);
  } catch {
    // Losing a metric must not cost an execution, so ignore the observer's error.
  }
}

/** For code whose failures reach the caller another way. */
export const SILENT: ExecutionObserver = Object.freeze({ report: ignored });

/** Writes to stderr: failures as Node warnings, and the messages of `ctx.log`. */
export function warn(report: ExecutionReport): void {
  const problem = problemLine(report);
  if (problem !== undefined) process.emitWarning(problem, 'HoldfastWarning');
  const logged = logLine(report);
  if (logged !== undefined) process.stderr.write(`${logged}\n`);
}

/** Reports an unexpected failure, whatever the code threw. */
export function reportTrouble(
  observer: ExecutionObserver | undefined,
  { code, what = entryOf(code).title }: { readonly code: Code; readonly what?: string },
  fault: unknown,
): void {
  sendReport(observer, { kind: 'trouble', code, what, cause: thrownText(fault) });
}

/** Reports what happened to a claim. */
export function reportClaim(
  claim: {
    readonly config: { readonly observer: ExecutionObserver | undefined };
    readonly claimed: { readonly execution: ExecutionRecord; readonly fence: Fence };
    readonly pipeline: { readonly name: PipelineName };
  },
  report: ClaimReport,
): void {
  const { id: execution, traceparent } = claim.claimed.execution;
  const { fence } = claim.claimed;
  const about = { execution, pipeline: claim.pipeline.name, fence, ...report };
  sendReport(claim.config.observer, traceparent === undefined ? about : { ...about, traceparent });
}
