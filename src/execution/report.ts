// Reports of the engine to observers, and their form in a log.

import type { StaleFinding } from '../features/reconcile/model.ts';
import type { Fence } from '../lease/fence.ts';
import type { Status } from './execution.ts';
import { type Failure, locatedMessage } from './failure.ts';
import type { ExecutionId, PipelineName } from './names.ts';

export interface ReportAbout {
  readonly execution: ExecutionId;
  readonly pipeline: PipelineName;
  readonly fence: Fence;
  /** The trace context of the submission, if it had one. */
  readonly traceparent?: string;
}

export type ExecutionReport =
  | (ReportAbout & {
      readonly kind: 'claimed';
      readonly previous: 'none' | 'parked' | 'given-back' | 'lost';
      /** From ready to claimed. */
      readonly waitedMs: number;
    })
  | (ReportAbout & {
      readonly kind: 'step';
      readonly step: string;
      readonly attempt: number;
      readonly tookMs: number;
      readonly failure?: Failure;
      /** The step may have run before, because an earlier owner was lost while it could run. */
      readonly mayHaveRun: boolean;
    })
  | (ReportAbout & { readonly kind: 'parked' | 'given-back' | 'blocked'; readonly why?: string })
  | (ReportAbout & { readonly kind: 'ended'; readonly status: Status; readonly failure?: Failure })
  /** The claim ended, but not through this engine. The store refuses its further writes. */
  | (ReportAbout & { readonly kind: 'lost'; readonly why: string })
  | (ReportAbout & { readonly kind: 'log'; readonly message: string; readonly data?: unknown })
  /**
   * A row breaks an invariant, or an execution is neglected. The reconciler has made the provable
   * repairs.
   */
  | ({ readonly kind: 'stale' } & StaleFinding)
  /** Retention removed ended executions; `archived` of them are in the archive. */
  | {
      readonly kind: 'removed';
      readonly removed: number;
      readonly archived: number;
      readonly failed: number;
    }
  | { readonly kind: 'trouble'; readonly what: string; readonly cause: string }
  /**
   * The coordinator denies this worker access: its key was revoked, has expired, or lacks the role.
   */
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

export interface ExecutionObserver {
  report(report: ExecutionReport): void;
}

export const BAD_ENDS: ReadonlySet<Status> = new Set<Status>([
  'failed',
  'quarantined',
  'compensated',
]);

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
      return oneLine(`${report.what}: ${report.cause}`);
    case 'denied':
      return oneLine(
        `The coordinator does not let this worker in (${report.code}): its key has ended or expired, or does not allow it. Other workers take over its executions; it ends when this lasts longer than its ttl. ${report.why}`,
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

/** Writes a line for each problem, and for each line of `ctx.log`. */
export function lineObserver(write: (line: string) => void): ExecutionObserver {
  return {
    report(report) {
      const line = problemLine(report) ?? logLine(report);
      if (line !== undefined) write(line);
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
