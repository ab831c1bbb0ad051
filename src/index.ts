// The public map of the package. Explicit exports only, no logic. Stores have entry points of their
// own, so that a program loads only the drivers that it uses. `openHoldfast` loads the driver that
// its address needs.

export { type Archive, type ArchiveDocument, ArchiveUnavailable } from './archive/port.ts';
export {
  type ExportProgress,
  type ExportStoreOptions,
  exportStore,
  type ImportStoreOptions,
  importStore,
  type StoreExported,
  type StoreImported,
  type StoreUnsealed,
  type UnsealStoreOptions,
  unsealStore,
} from './embedded/export-store.ts';
export { type OpenHoldfastOptions, openHoldfast } from './embedded/open-holdfast.ts';
export type { HoldfastOptions } from './engine/config.ts';
export type {
  Child,
  ChildOutcome,
  Children,
  CircuitOptions,
  CleanupContext,
  Compensate,
  CompensateOptions,
  Context,
  ExecutionLease,
  MapOptions,
  RetryOptions,
  RetryRule,
  SagaOptions,
  ScopeOptions,
  SpawnOptions,
  StepContext,
  StepOptions,
  UndoContext,
  Update,
} from './engine/context.ts';
export {
  ChildFailed,
  ExecutionCancelled,
  ExecutionFailed,
  OperationRefused,
  ReleaseRefused,
  StepError,
  type StepErrorOptions,
  StepFailed,
  SubmitRefused,
  TemplateRefused,
} from './engine/failures.ts';
export type {
  CancelOptions,
  ExecutionFilter,
  Handle,
  ListOptions,
  OperationOptions,
  Page,
} from './engine/holdfast.ts';
export { Holdfast } from './engine/holdfast.ts';
export { type InteractionPlace, interactionId } from './engine/ids.ts';
export {
  type CheckpointPolicy,
  type HostOptions,
  hostStep,
  type Pipeline,
  type PipelineOptions,
  pipeline,
  type RemoteStep,
  type RemoteStepOptions,
  remoteStep,
} from './engine/pipeline.ts';
export type { SavedHistory } from './engine/saved-history.ts';
export type { SubmitOptions } from './engine/submission.ts';
export { aesCodec, type CodecKey } from './engine/values/aes-codec.ts';
export {
  type EncodedPayload,
  type PayloadCodec,
  type PayloadLimits,
  PayloadTooLarge,
} from './engine/values/payloads.ts';
export type { Schema } from './engine/values/schema.ts';
export type { Worker, WorkerOptions, WorkerRelease } from './engine/worker/worker-options.ts';
export {
  type AttributeChanges,
  type Attributes,
  type Erasure,
  type ExecutionRecord,
  type Hold,
  isTerminal,
  type Lane,
  type Status,
  type TerminalStatus,
} from './execution/execution.ts';
export type { ExplainCode, Explanation } from './execution/explain.ts';
export type { Failure, FailureCategory } from './execution/failure.ts';
export { DEFAULT_RETRY, type RetryPolicy } from './execution/failure.ts';
export type { HistoryEvent, HistoryEventKind } from './execution/history.ts';
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
  type EraseRefusal,
  type ExecutionRefusal,
  type LinkRefusal,
  type RedriveRefusal,
  type ScheduleRefusal,
  type SubmitRefusal,
  type TemplateRefusal,
} from './execution/refusal.ts';
export type { ExecutionObserver, ExecutionReport } from './execution/report.ts';
export type { Audit, AuditListOptions, RefusalListOptions } from './features/audit/api.ts';
export type {
  AuditAction,
  AuditFacts,
  AuditRecord,
  AuditTarget,
  OwnerVerb,
  RefusedWrite,
} from './features/audit/model.ts';
export type { NoteResult } from './features/audit/port.ts';
export type { InteractionTarget } from './features/awaits/answering-api.ts';
export type {
  Answered,
  AnswerInfo,
  AnswerOptions,
  AwaitInfo,
  Awaits,
  InteractionInfo,
  InteractionListOptions,
} from './features/awaits/api.ts';
export type { LinkOptions } from './features/awaits/links-api.ts';
export type { Answer, AwaitStatus, InteractionStatus } from './features/awaits/model.ts';
export type { AwaitResult } from './features/awaits/port.ts';
export type {
  AwaitItemsOptions,
  AwaitOptions,
  AwaitOutcome,
  AwaitReminder,
  ItemAnswer,
  ItemsOutcome,
} from './features/awaits/question-api.ts';
export {
  type AnswerAbout,
  type Question,
  type QuestionOptions,
  question,
} from './features/awaits/question-api.ts';
export type { EraseOptions, EraseResult } from './features/erasure/api.ts';
export {
  type Finding,
  INVARIANTS,
  type Invariant,
  type InvariantName,
  type StaleFinding,
} from './features/reconcile/model.ts';
export type {
  Adopted,
  AdoptOptions,
  RegisterOptions,
  ReleaseInfo,
  Releases,
  RolloutOptions,
  WorkerInfo,
} from './features/releases/api.ts';
export type { Artifact } from './features/releases/artifacts-model.ts';
export { type ContractChange, diffContracts } from './features/releases/contract-decide.ts';
export { type Contract, contractVersion } from './features/releases/contract-model.ts';
export type {
  Activation,
  BrokenReplay,
  Preflight,
  Release,
  Rollout,
} from './features/releases/model.ts';
export {
  describeReleaseRefusal,
  type ReleaseRefusal,
  type RepinRefusal,
} from './features/releases/model.ts';
export type {
  ExecutionRepinned,
  PipelineRollout,
  ReleaseRegistered,
  RolloutChanged,
} from './features/releases/port.ts';
export type {
  Compared,
  CompareOptions,
  PreflightOptions,
  PreflightResult,
} from './features/releases/preflight-api.ts';
export type { BulkRepinOptions, RepinOptions } from './features/releases/repin-api.ts';
export type {
  Bulk,
  BulkCancelOptions,
  BulkRedriveOptions,
  ReconcileOptions,
  RedriveOptions,
  Repair,
} from './features/repair/api.ts';
export {
  type DeadLetterFilter,
  type JobOutput,
  RedriveImpossible,
} from './features/repair/jobs-api.ts';
export type { DeadLetter, DeadLetterGroup, DeadLetterRecord } from './features/repair/model.ts';
export type {
  ArchivedInFull,
  ArchiveListOptions,
  ArchiveRun,
  ArchiveRunOptions,
  Archives,
  RetentionOptions,
} from './features/retention/api.ts';
export type { ArchivedDocument, Damage, Verified } from './features/retention/archive-api.ts';
export type { ArchivedExecution, KeepMs, KeepName } from './features/retention/model.ts';
export type {
  BackfillOptions,
  ScheduleBackfilled,
  ScheduleInfo,
  ScheduleRefused,
  Schedules,
  ScheduleTriggered,
  TriggerOptions,
} from './features/schedules/api.ts';
export type { Overlap } from './features/schedules/model.ts';
export type { CatchUp, PutScheduleOptions, When } from './features/schedules/plan-api.ts';
export type { ScheduleResult } from './features/schedules/port.ts';
export type {
  PutTemplateOptions,
  TemplateInfo,
  TemplateListOptions,
  TemplateRef,
  Templates,
} from './features/templates/api.ts';
export type { Template, TemplateVersion } from './features/templates/model.ts';
export type { UpdateMessage, UpdateResult, WaitOptions } from './features/updates/api.ts';
export type { QueryMessage } from './features/updates/query-api.ts';
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
export type { KernelStore, LeaseService, LeaseStore, SessionStore } from './lease/port.ts';
export { describeRefusal, type Holder, type Refusal } from './lease/refusal.ts';
export type { SessionMetadata, SessionRecord, SessionState } from './lease/session.ts';
export type { SessionOptions } from './lease/session-options.ts';
export type { StoreOutage } from './lease/store-call.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './lease/sweeper.ts';
export { type Watched, type WatchOptions, watchLeases } from './lease/watch.ts';
export type { AttachmentSummary, AttributeFilter } from './store/contract/execution-reads.ts';
export type { CommandResult, CoordinatorStore } from './store/contract/execution-store.ts';
export { formatInstant, type Instant } from './support/clock.ts';
export {
  Fault,
  InvalidInput,
  OutcomeUnknown,
  StoreCorrupt,
  StoreSealed,
  StoreUnavailable,
} from './support/fault.ts';
