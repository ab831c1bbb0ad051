// What Holdfast is made of, besides its workers.

export type { RefusedWrite } from '../execution/refused-write.ts';
export { Archives } from './archives.ts';
export { Audit } from './audit.ts';
export { Awaits } from './awaits.ts';
export { Bulk } from './bulk.ts';
export type { AnyJobInput } from './bulk-move.ts';
export { explainExecution } from './explaining.ts';
export { JOB_PIPELINE, type JobOutput } from './jobs.ts';
export { MOVE_PIPELINE } from './move-job.ts';
export { requireWorker } from './possible-workers.ts';
export { listRefusals, type RefusalListOptions } from './refusals.ts';
export { Releases } from './releases.ts';
export { Repair } from './repair.ts';
export { Results, signalFrom, type Waiting } from './results.ts';
export { Schedules } from './schedules.ts';
export { submissionFor, type TemplateRef, Templates } from './templates.ts';
