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

/** What repeating the same request does. The error reference explains each word. */
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

/** Types the codes, but not their texts, so that declarations stay small. */
export function entries<Code extends string>(
  all: Readonly<Record<Code, CodeEntry>>,
): Readonly<Record<Code, CodeEntry>> {
  return all;
}
