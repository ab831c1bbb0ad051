// holdfast/observe: records what leases do, checks such records, and gives advice from them.
// Adapters for metrics and traces have their own entry points, so that you install only the
// packages you use.

export { observers } from '../lease/observer.ts';
export type { MissingEvidence } from './advisor/advise.ts';
export {
  type Advice,
  type Assumptions,
  advise,
  adviseAssuming,
  type Recommendation,
} from './advisor/advise.ts';
export type { Candidate, Constraint } from './advisor/candidate.ts';
export { type Goals, goalsOf, PRESETS, type Preset, type Prices } from './advisor/goals.ts';
export type { Histogram } from './advisor/histogram.ts';
export type { LeaseSettings } from './advisor/model.ts';
export { type LeaseModel, modelOf } from './advisor/model.ts';
export type { FailureRow, RecordedSession, Renewal } from './advisor/observations.ts';
export {
  ObservationCollector,
  type Observations,
  observationsOf,
} from './advisor/observations.ts';
export type { PauseLaw, PauseRates, Tail } from './advisor/pause-law.ts';
export {
  dalyInterval,
  describeReplay,
  type Prediction,
  predict,
  type Replay,
  replay,
  shouldCheckpoint,
  wasteShare,
  youngInterval,
} from './advisor/predict.ts';
export type { Estimate } from './advisor/rate.ts';
export { tradeOffSvg } from './advisor/trade-off-svg.ts';
export { CONSTRAINT_WORDS, showEstimate, showMs } from './advisor/words.ts';
export {
  type DroppedEntry,
  type EventEntry,
  type HeaderEntry,
  type LocatedEntry,
  type LogEntry,
  type MalformedLine,
  type MissedEntry,
  type Place,
  type ReportEntry,
  showPlace,
} from './lease-log/entry.ts';
export { orderLeaseLogs, type ReadOptions, readLeaseLog } from './lease-log/read-log.ts';
export {
  type LeaseRecorder,
  type RecordEventsOptions,
  type RecorderOptions,
  recordLeases,
} from './lease-log/recorder.ts';
export type { ViolatedRule, Violation } from './verify-log/facts.ts';
export {
  type Checked,
  type VerifiedLog,
  type VerifyOptions,
  verifyEntries,
  verifyLeaseLogs,
} from './verify-log/verify-log.ts';
