// The calls that code can make of its context.

export { AttachCall, attachmentOf } from './attach.ts';
export { type Asked, awaitAnswers } from './await.ts';
export { checkpoint } from './checkpoint.ts';
export { raced } from './raced.ts';
export { ReceiveCall, timeoutOf } from './receive.ts';
export { call } from './remote.ts';
export { SLEEP_MS_MAX, SleepCall, type SleepPlan, untilOf } from './sleep.ts';
export { StepCall } from './step.ts';
export { NO_OPTIONS, STEP_OPTIONS, stepOptions, stepPlanOf } from './step-plan.ts';
export { TransactionCall } from './transaction.ts';
