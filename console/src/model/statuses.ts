export const STATUSES: readonly string[] = [
  ...['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'quarantined'],
  'compensated',
];

export const OPEN: ReadonlySet<string> = new Set(['queued', 'running', 'waiting']);

export const ENDED: ReadonlySet<string> = new Set(STATUSES.filter((status) => !OPEN.has(status)));

/** One scale for banners, badges and counts. */
export type Severity = 'bad' | 'quarantine' | 'undo' | 'warn' | 'ok' | 'plain';

const OF_STATUS: Readonly<Record<string, Severity>> = {
  failed: 'bad',
  quarantined: 'quarantine',
  compensated: 'undo',
  completed: 'ok',
};

const OF_CODE: Readonly<Record<string, Severity>> = {
  ...{ blocked: 'bad', 'owner-overdue': 'bad', 'owner-gone': 'bad', 'no-worker': 'bad' },
  ...{ 'waiting-for-answer': 'warn', paused: 'warn', 'waiting-for-worker': 'warn' },
};

/**
 * The urgency with which an execution needs a person, by its status and the code of its
 * explanation.
 */
export function severityOf(status: string, code: string): Severity {
  return OF_STATUS[status] ?? OF_CODE[code] ?? 'plain';
}
