// What every worker does for all, beside running its pipelines.

export { DueAwaits } from './due-awaits.ts';
export { OverdueSessions } from './overdue-sessions.ts';
export { Reconciler } from './reconciler.ts';
export { Retention } from './retention.ts';
export { Scheduler } from './scheduler.ts';
