// The calls that code can make of its context.

export { AttachCall, attachmentOf } from './attach.ts';
export { checkpoint } from './checkpoint.ts';
export { ReceiveCall } from './receive.ts';
export { SleepCall, type SleepPlan, untilOf } from './sleep.ts';
export { StepCall } from './step.ts';
export { TransactionCall } from './transaction.ts';
