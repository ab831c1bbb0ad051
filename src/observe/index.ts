// holdfast/observe: recording what leases do, checking such records, and advice from them. Adapters for
// metrics and traces have entry points of their own, so that nobody needs a package they do not use.

export { type Advice, advise, type Recommendation } from './advisor/advise.ts';
export { type Assumptions, adviseAssuming } from './advisor/assume.ts';
export type { Candidate, Constraint } from './advisor/candidate.ts';
export {
  dalyInterval,
  shouldCheckpoint,
  wasteShare,
  youngInterval,
} from './advisor/checkpoint-interval.ts';
export type { MissingEvidence } from './advisor/evidence.ts';
export { type Goals, goalsOf, PRESETS, type Preset, type Prices } from './advisor/goals.ts';
export type { Histogram } from './advisor/histogram.ts';
export { type LeaseModel, modelOf } from './advisor/model.ts';
export {
  ObservationCollector,
  type Observations,
  observationsOf,
} from './advisor/observations.ts';
export type { PauseLaw, PauseRates, Tail } from './advisor/pause-law.ts';
export { type Prediction, predict } from './advisor/predict.ts';
export type { Estimate } from './advisor/rate.ts';
export { describeReplay, type Replay, replay } from './advisor/replay.ts';
export type { FailureRow, RecordedSession, Renewal } from './advisor/session-tally.ts';
export type { LeaseSettings } from './advisor/settings.ts';
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
export { orderLeaseLogs } from './lease-log/order-logs.ts';
export { type ReadOptions, readLeaseLog } from './lease-log/read-log.ts';
export {
  type LeaseRecorder,
  type RecordEventsOptions,
  type RecorderOptions,
  recordLeases,
} from './lease-log/recorder.ts';
export { observers } from './observers.ts';
export {
  type Checked,
  type VerifiedLog,
  type VerifyOptions,
  verifyEntries,
  verifyLeaseLogs,
} from './verify-log/verify-log.ts';
export type { ViolatedRule, Violation } from './verify-log/violation.ts';
