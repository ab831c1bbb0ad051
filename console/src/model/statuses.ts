export const STATUSES: readonly string[] = [
  ...['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled', 'quarantined'],
  'compensated',
];

export const OPEN: ReadonlySet<string> = new Set(['queued', 'running', 'waiting']);

export const ENDED: ReadonlySet<string> = new Set(STATUSES.filter((status) => !OPEN.has(status)));
