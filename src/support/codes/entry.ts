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
}

export type CodeEntries = Readonly<Record<string, CodeEntry>>;
