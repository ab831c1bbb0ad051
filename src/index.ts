// The public map of the package. Explicit exports only, no logic. Stores have entry points of their
// own, so that nobody loads a driver they do not use; `openHoldfast` loads the one it is asked for.

export { type Archive, type ArchiveDocument, ArchiveUnavailable } from './archive/port.ts';
export {
  type ExportStoreOptions,
  exportStore,
  type MoveProgress,
  type StoreExported,
} from './embedded/export-store.ts';
export {
  type ImportStoreOptions,
  importStore,
  type StoreImported,
} from './embedded/import-store.ts';
export { type OpenHoldfastOptions, openHoldfast } from './embedded/open-holdfast.ts';
export {
  type StoreUnsealed,
  type UnsealStoreOptions,
  unsealStore,
} from './embedded/unseal-store.ts';
export type { Adopted, AdoptOptions } from './engine/adopting.ts';
export { aesCodec, type CodecKey } from './engine/aes-codec.ts';
export type { LinkOptions } from './engine/answer-links.ts';
export type { InteractionTarget } from './engine/answering.ts';
export type {
  ArchivedInFull,
  ArchiveListOptions,
  ArchiveRun,
  ArchiveRunOptions,
  Archives,
} from './engine/archives.ts';
export type { ArchivedDocument, Damage, Verified } from './engine/archiving/manifest.ts';
export type { Audit, AuditListOptions } from './engine/audit.ts';
export type {
  AwaitItemsOptions,
  AwaitOptions,
  AwaitOutcome,
  AwaitReminder,
  ItemAnswer,
  ItemsOutcome,
} from './engine/await-options.ts';
export type {
  Answered,
  AnswerInfo,
  AnswerOptions,
  AwaitInfo,
  Awaits,
  InteractionInfo,
  InteractionListOptions,
} from './engine/awaits.ts';
export type { Bulk, BulkCancelOptions, BulkRedriveOptions } from './engine/bulk.ts';
export type { BulkMoveOptions } from './engine/bulk-move.ts';
export type {
  Child,
  ChildOutcome,
  Children,
  Compensate,
  CompensateOptions,
  Context,
  MapOptions,
  RetryOptions,
  RetryRule,
  SagaOptions,
  SpawnOptions,
  StepContext,
  StepOptions,
  UndoContext,
} from './engine/context.ts';
export type { DeadLetterFilter } from './engine/dead-letter-query.ts';
export {
  ActRefused,
  ChildFailed,
  ExecutionCancelled,
  ExecutionFailed,
  ReleaseRefused,
  StepError,
  type StepErrorOptions,
  StepFailed,
  SubmitRefused,
  TemplateRefused,
} from './engine/failures.ts';
export { Holdfast } from './engine/holdfast.ts';
export type { HoldfastOptions } from './engine/holdfast-options.ts';
export type { Acting, Handle, ListOptions, Page } from './engine/holdfast-types.ts';
export { type HostOptions, hostStep } from './engine/host-step.ts';
export { type InteractionPlace, interactionId } from './engine/ids.ts';
export type { JobOutput } from './engine/jobs.ts';
export type { MoveOptions } from './engine/moving.ts';
export {
  type EncodedPayload,
  type PayloadCodec,
  type PayloadLimits,
  PayloadTooLarge,
} from './engine/payloads.ts';
export {
  type CheckpointPolicy,
  type Pipeline,
  type PipelineOptions,
  pipeline,
} from './engine/pipeline.ts';
export type {
  Compared,
  CompareOptions,
  PreflightAnswer,
  PreflightOptions,
} from './engine/preflight.ts';
export {
  type AnswerAbout,
  type Question,
  type QuestionOptions,
  question,
} from './engine/question.ts';
export { RedriveImpossible } from './engine/redriving.ts';
export type { RefusalListOptions } from './engine/refusals.ts';
export type { RegisterOptions } from './engine/registering.ts';
export type { LineOptions, ReleaseInfo, Releases, WorkerInfo } from './engine/releases.ts';
export {
  type RemoteStep,
  type RemoteStepOptions,
  remoteStep,
} from './engine/remote-step.ts';
export type { ReconcileOptions, RedriveOptions, Repair } from './engine/repair.ts';
export type { RetentionOptions } from './engine/retention-options.ts';
export type { CatchUp, Overlap, PutScheduleOptions } from './engine/schedule-plan.ts';
export type { When } from './engine/schedule-times.ts';
export type { ScheduleInfo, Schedules } from './engine/schedules.ts';
export type { Schema } from './engine/schema.ts';
export type { SubmitOptions } from './engine/submission.ts';
export type {
  PutTemplateOptions,
  TemplateInfo,
  TemplateListOptions,
  TemplateRef,
  Templates,
} from './engine/templates.ts';
export type { Worker } from './engine/worker-handle.ts';
export type { WorkerOptions, WorkerRelease } from './engine/worker-options.ts';
export type { AuditAct, AuditFacts, AuditRecord, AuditTarget } from './execution/audit.ts';
export type { Answer, AwaitStatus, InteractionStatus } from './execution/await.ts';
export type { DeadLetter, DeadLetterGroup, DeadLetterRecord } from './execution/dead-letter.ts';
export {
  type Attributes,
  type ExecutionRecord,
  type Hold,
  isTerminal,
  type Lane,
  type Status,
  type TerminalStatus,
} from './execution/execution.ts';
export type { ExplainCode, Explanation } from './execution/explain.ts';
export type { Failure, FailureCategory } from './execution/failure.ts';
export type { EventKind as HistoryEventKind, HistoryEvent } from './execution/history.ts';
export {
  type Finding,
  INVARIANTS,
  type Invariant,
  type InvariantName,
  type Told as StaleFinding,
} from './execution/invariants.ts';
export {
  type AuditId,
  type ExecutionId,
  type InteractionId,
  type Payload,
  type PipelineName,
  type ProjectName,
  parseExecutionId,
} from './execution/names.ts';
export {
  type AnswerRefusal,
  type AwaitRefusal,
  type CommandRefusal,
  describeExecutionRefusal,
  type ExecutionRefusal,
  type LinkRefusal,
  type RedriveRefusal,
  type ScheduleRefusal,
  type SubmitRefusal,
  type TemplateRefusal,
} from './execution/refusal.ts';
export type { OwnerVerb, RefusedWrite } from './execution/refused-write.ts';
export type { ExecutionObserver, ExecutionReport } from './execution/report.ts';
export type { ArchivedExecution, KeepMs, KeepName } from './execution/retention.ts';
export { DEFAULT_RETRY, type RetryPolicy } from './execution/retry.ts';
export type { Template, TemplateVersion } from './execution/template.ts';
export type { AcquireOptions, AcquireOutcome } from './lease/acquire-lease.ts';
export type { Alarm, EventKind, EventSeq, LeaseEvent } from './lease/event.ts';
export { type DeclaredExit, EXIT_ADVICE, type Exit } from './lease/exit.ts';
export { epochOf, type Fence, formatFence, parseFence } from './lease/fence.ts';
export type { HeldLease, NotHeld, RejoinOutcome } from './lease/held-lease.ts';
export type {
  Checkpoint,
  Drain,
  Intent,
  LeaseRecord,
  LeaseState,
  Predecessor,
} from './lease/lease.ts';
export { openSession, type Session, SessionRefused } from './lease/live-session.ts';
export {
  type LeaseKey,
  type Owner,
  parseLeaseKey,
  parseOwner,
  parseRequestId,
  parseSessionId,
  type RequestId,
  type SessionId,
} from './lease/names.ts';
export { type EndedBy, LeaseNotHeld, type WithdrawnBy } from './lease/not-held.ts';
export type { LeaseObserver, LeaseReport } from './lease/observer.ts';
export {
  type DrainOptions,
  drainLease,
  type OperateOptions,
  revokeLease,
} from './lease/operate.ts';
export { DEFAULT_POLICY, type LeasePolicy } from './lease/policy.ts';
export type { KernelStore, LeaseStore, SessionStore } from './lease/port.ts';
export { describeRefusal, type Holder, type Refusal } from './lease/refusal.ts';
export type { SessionMetadata, SessionRecord, SessionState } from './lease/session.ts';
export type { SessionOptions } from './lease/session-options.ts';
export type { Unanswered } from './lease/store-call.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './lease/sweeper.ts';
export { type Watched, type WatchOptions, watchLeases } from './lease/watch.ts';
export { type Contract, contractVersion } from './release/contract.ts';
export { type ContractChange, diffContracts } from './release/contract-diff.ts';
export {
  describeReleaseRefusal,
  type MoveRefusal,
  type ReleaseRefusal,
} from './release/refusal.ts';
export type { Activation, BrokenReplay, Line, Preflight, Release } from './release/release.ts';
export type { NoteAnswer } from './store/contract/audit-store.ts';
export type { AwaitAnswer } from './store/contract/await-store.ts';
export type {
  AttachmentSummary,
  AttributeFilter,
  CommandAnswer,
  CoordinatorStore,
} from './store/contract/execution-store.ts';
export type {
  ExecutionMoved,
  LineChanged,
  LineOf,
  ReleaseRegistered,
} from './store/contract/release-store.ts';
export type { ScheduleAnswer } from './store/contract/schedule-store.ts';
export { formatInstant, type Instant } from './support/clock.ts';
export {
  Fault,
  InvalidInput,
  OutcomeUnknown,
  StoreCorrupt,
  StoreSealed,
  StoreUnavailable,
} from './support/fault.ts';
