// The catalogue of stable codes. Faults, refusals, problems, failures and log lines take their codes from it, so a
// code without an entry does not compile. `npm run reference` renders it as docs/reference/errors.md.

export interface CodeEntry {
  /** A short sentence without a full stop: the title of the problem, and the message of a log line. */
  readonly title: string;
  /** The HTTP status, if a coordinator sends the code as a problem. */
  readonly status?: number;
  readonly when: string;
  /** Says which state was written. */
  readonly state: string;
  readonly fix: string;
  readonly retry: Retry;
  /** Those who apply the fix; empty if nothing is to be done. */
  readonly fixedBy: readonly Party[];
}

/** The effect of repeating the same request. The error reference explains each word. */
export type Retry =
  | 'safe'
  | 'after-fix'
  | 'automatic'
  | 'same-key'
  | 'check-first'
  | 'not-needed'
  | 'no';

/** The sender of the request; who runs coordinator and store; who writes pipelines and workers. */
export type Party = 'caller' | 'operator' | 'developer';

/** The effect of repeating the same request, and who applies the fix. */
export function handling(
  retry: Retry,
  ...fixedBy: readonly Party[]
): Pick<CodeEntry, 'retry' | 'fixedBy'> {
  return { retry, fixedBy };
}

/** A code that a coordinator sends as a problem with this HTTP status. */
export function sentWith<const Status extends number>(
  status: Status,
  ...handled: Parameters<typeof handling>
): { readonly status: Status } & ReturnType<typeof handling> {
  return { status, ...handling(...handled) };
}

/** Types the codes, but not their texts, so that declarations stay small. */
export function entries<Code extends string>(
  all: Readonly<Record<Code, CodeEntry>>,
): Readonly<Record<Code, CodeEntry>> {
  return all;
}
