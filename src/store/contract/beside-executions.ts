// The ports that stand beside executions, for the one that gathers them.

export type { AccessStore } from './access-store.ts';
export type { Audited, AuditStore } from './audit-store.ts';
export type { AwaitStore } from './await-store.ts';
export type { CensusStore } from './census-store.ts';
export type { PayloadStore } from './payload-store.ts';
export type { ReconcileStore } from './reconcile-store.ts';
export type { ReleaseStore } from './release-store.ts';
export type { RepairStore } from './repair-store.ts';
export type { RetentionStore } from './retention-store.ts';
export type { ScheduleStore } from './schedule-store.ts';
export type { SealStore } from './seal-store.ts';
export type { TemplateStore } from './template-store.ts';
