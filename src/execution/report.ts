// Reports of the engine to observers, and their form in a log.

import type { StaleFinding } from '../features/reconcile/model.ts';
import type { Fence } from '../lease/fence.ts';
import type { Code } from '../support/codes/catalogue.ts';
import { wordsIn } from '../support/options.ts';
import type { Status } from './execution.ts';
import { type Failure, locatedMessage } from './failure.ts';
import type { ExecutionId, PipelineName } from './names.ts';

/** The claim that a report is about. */
export interface ReportAbout {
  /** The id of the execution. */
  readonly execution: ExecutionId;
  /** The name of its pipeline. */
  readonly pipeline: PipelineName;
  /** The fence of the claim. */
  readonly fence: Fence;
  /** The W3C trace context of the execution. */
  readonly traceparent?: string;
}

/**
 * A report to an observer. `kind` is its kind.
 *
 * - `claimed`: this process claimed the execution after it waited `waitedMs`; `previous` is how the
 *   claim before ended.
 * - `step`: attempt number `attempt` of `step` ended after `tookMs`, with a `failure` or without.
 *   `mayHaveRun`: an earlier
 * owner may have run it.
 * - `parked`, `given-back`, `blocked`: the execution left this process, for the reason `why`.
 * - `ended`: it ended as `status`, with a `failure` or without.
 * - `lost`: the claim is over, for the reason `why`; later writes of this process are refused.
 * - `log`: the code called `ctx.log` with `message` and `data`.
 * - `stale`: a check found stored data that breaks an invariant.
 * - `removed`: `removed` ended executions were deleted, `archived` of them archived; `failed` could
 *   not be.
 * - `trouble`: something failed (`what`) because of `cause`; the worker continues.
 * - `denied`: the coordinator refused this worker's access key; `code` and `why` are the reason.
 */
export type ExecutionReport =
  | (ReportAbout & {
      readonly kind: 'claimed';
      readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
      readonly waitedMs: number;
    })
  | (ReportAbout & {
      readonly kind: 'step';
      readonly step: string;
      readonly attempt: number;
      readonly tookMs: number;
      readonly failure?: Failure;
      readonly mayHaveRun: boolean;
    })
  | (ReportAbout & { readonly kind: 'parked' | 'given-back' | 'blocked'; readonly why?: string })
  | (ReportAbout & { readonly kind: 'ended'; readonly status: Status; readonly failure?: Failure })
  | (ReportAbout & { readonly kind: 'lost'; readonly why: string })
  | (ReportAbout & { readonly kind: 'log'; readonly message: string; readonly data?: unknown })
  | ({ readonly kind: 'stale' } & StaleFinding)
  | {
      readonly kind: 'removed';
      readonly removed: number;
      readonly archived: number;
      readonly failed: number;
    }
  | {
      readonly kind: 'trouble';
      /** Stable; listed in the error reference. */
      readonly code: Code;
      readonly what: string;
      readonly cause: string;
    }
  | { readonly kind: 'denied'; readonly code: string; readonly why: string };

/** The content of a report, without the claim. */
export type ClaimReport = WithoutClaim<Extract<ExecutionReport, ReportAbout>>;

type WithoutClaim<Report> = Report extends ReportAbout ? Omit<Report, keyof ReportAbout> : never;

type Leaving = Extract<
  ExecutionReport,
  { readonly kind: 'parked' | 'given-back' | 'blocked' | 'ended' | 'lost' }
>;

const LEAVING: ReadonlySet<string> = new Set<Leaving['kind']>([
  ...(['parked', 'given-back', 'blocked', 'ended', 'lost'] as const),
]);

/** The execution has left this process. */
export function isLeaving(report: ExecutionReport): report is Leaving {
  return LEAVING.has(report.kind);
}

export function howLeft(report: Leaving): string {
  return report.kind === 'ended' ? report.status : report.kind;
}

/**
 * Receives reports about executions. Pass it to `openHoldfast`.
 *
 * @example
 * const observer: ExecutionObserver = {
 *   report: (report) => {
 *     if (report.kind === 'ended') console.log(report.execution, report.status);
 *   },
 * };
 */
export interface ExecutionObserver {
  /** Called for each report. Errors that it throws are ignored. */
  report(report: ExecutionReport): void;
}

export const BAD_ENDS: ReadonlySet<Status> = new Set<Status>(
  wordsIn('failed quarantined compensated'),
);

/** One line for a failed attempt, a bad end, a blocked execution or trouble; undefined for everything else. */
export function problemLine(report: ExecutionReport): string | undefined {
  switch (report.kind) {
    case 'step': {
      const { step, attempt, failure } = report;
      if (failure === undefined) return undefined;
      return lineAbout(
        report,
        `step "${step}" failed, attempt ${attempt}: ${failureText(failure)}`,
      );
    }
    case 'ended': {
      const { status, failure } = report;
      if (!BAD_ENDS.has(status)) return undefined;
      return lineAbout(
        report,
        `${status}${failure === undefined ? '' : `: ${failureText(failure)}`}`,
      );
    }
    case 'blocked':
      return lineAbout(report, `blocked: ${report.why ?? ''}`);
    case 'trouble':
      return oneLine(`${report.what}: ${report.cause} [${report.code}]`);
    case 'denied':
      return oneLine(
        `The coordinator rejects the access key of this worker: ${report.why} Other workers take over its executions. The worker ends if this lasts longer than its ttl. [${report.code}]`,
      );
    default:
      return undefined;
  }
}

/** One line for what code wrote with `ctx.log`; undefined for everything else. */
export function logLine(report: ExecutionReport): string | undefined {
  if (report.kind !== 'log') return undefined;
  const { message, data } = report;
  return lineAbout(report, data === undefined ? message : `${message} ${dataText(data)}`);
}

/** The level of a line: `warn` for a problem, `info` for a line of `ctx.log`. */
export type LineLevel = 'info' | 'warn';

/** Writes a line for each problem, and for each line of `ctx.log`. */
export function lineObserver(write: (level: LineLevel, line: string) => void): ExecutionObserver {
  return {
    report(report) {
      const problem = problemLine(report);
      if (problem !== undefined) return write('warn', problem);
      const logged = logLine(report);
      if (logged !== undefined) write('info', logged);
    },
  };
}

/** Such as `TypeError: message (order.ts:16)`. */
export function failureText(failure: Pick<Failure, 'code' | 'message' | 'location'>): string {
  return `${failure.code}: ${locatedMessage(failure)}`;
}

function lineAbout({ pipeline, execution }: ReportAbout, text: string): string {
  return oneLine(`${pipeline} ${execution}: ${text}`);
}

function dataText(data: unknown): string {
  try {
    return JSON.stringify(data) ?? String(data);
  } catch {
    return '(not valid JSON)';
  }
}

/** Error texts come from anywhere, so remove line breaks and terminal escapes. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
}
