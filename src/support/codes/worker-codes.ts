// Codes of workers: the worker protocol, its transports, the engine, and failures of executions.

import type { CodeEntries } from './entry.ts';

const NOT_WRITTEN = 'Nothing was written.';
const TRIED_AGAIN = 'Nothing was lost; the worker tries again.';

export const PROTOCOL_CODES = {
  'version-unknown': {
    title: 'The protocol version is not supported',
    status: 400,
    when: 'Worker and coordinator have no version of the worker protocol in common.',
    state: 'Nothing was done.',
    fix: 'Upgrade whichever is older.',
  },
  'kind-unknown': {
    title: 'There is no such message',
    status: 400,
    when: 'A worker sent a message kind that the worker protocol does not have.',
    state: 'Nothing was done.',
    fix: 'Correct the kind. The message suggests the nearest one.',
  },
  'control-unknown': {
    title: 'The envelope has an unknown field',
    status: 400,
    when: 'A worker sent an envelope with a field that this version of the worker protocol does not have.',
    state: 'Nothing was done.',
    fix: 'Remove the field, or upgrade the coordinator.',
  },
  'signature-expired': {
    title: 'The signature of the message has expired',
    status: 403,
    when: 'A queued message reached the coordinator after the time until which it was signed.',
    state: 'Nothing was done.',
    fix: 'Send the message again. If it repeats, check the clocks and how long messages wait in the queue.',
  },
  'pipeline-unknown': {
    title: 'No worker has announced the pipeline',
    when: 'A warning in the response of a submit: no worker with this pipeline is known yet.',
    state: 'The execution was submitted, and waits.',
    fix: 'Check the name of the pipeline, or start a worker that runs it.',
  },
  'not-remote': {
    title: 'A remote worker cannot do this',
    when: 'Code called `ctx.transaction`, or spawned from a template, in a worker that does not have the store itself.',
    state: NOT_WRITTEN,
    fix: 'Run the pipeline embedded (`openHoldfast`). For a push handler, pass `coordinator: { url, key }`.',
  },
  'queue-unavailable': {
    title: 'The queue cannot be read',
    when: 'The coordinator could not receive messages from SQS. A log line has the cause.',
    state: 'Messages stay in the queue.',
    fix: 'Check the URL of the queue, region and credentials. The coordinator tries again.',
  },
  'message-not-handled': {
    title: 'A queued message was not handled',
    when: 'The coordinator failed to handle or answer a message from SQS. A log line has the cause.',
    state: 'The message stays in the queue and is delivered again.',
    fix: 'Read the cause. SQS moves a message to its dead-letter queue after repeated failures.',
  },
  'push-not-there': {
    title: 'A push endpoint does not respond',
    when: 'A push endpoint did not respond to a probe, or its response was not valid. Logged once until it responds.',
    state: 'The coordinator claims nothing for this endpoint.',
    fix: 'Check that the endpoint runs, that its URL is right, and that both sides have the same signing key.',
  },
  'push-not-claimed': {
    title: 'Nothing could be claimed for a push endpoint',
    when: 'The coordinator failed to claim executions for a push endpoint. A log line has the cause.',
    state: NOT_WRITTEN,
    fix: 'Check the store. The coordinator tries again.',
  },
  'push-not-settled': {
    title: 'A push call was not settled',
    when: 'The coordinator failed to call an endpoint, or to write its result.',
    state: 'Recorded steps stay; the execution is claimed again.',
    fix: 'Read the cause in the log line, and check the store.',
  },
  'push-unknown': {
    title: 'The result of a push call is unknown',
    when: 'The endpoint did not return a valid result within its time limit.',
    state: 'Steps that the endpoint ran may have had their effect. The execution is called again.',
    fix: 'Check the endpoint and its `timeoutMs`. Give the handler a `coordinator` so that it records each step at once.',
  },
  'push-release-refused': {
    title: 'The release of a push endpoint was refused',
    when: 'The endpoint announced a release that is not registered, is retired, or has another digest or contract.',
    state: 'The endpoint gets no pinned executions.',
    fix: 'Register the release, or deploy the registered build.',
  },
  'push-keys-shared': {
    title: 'Push endpoints of several projects share keys',
    when: 'Endpoints of different projects are called with the same signing keys. Logged at the start.',
    state: 'Calls work; a holder of the keys can forge calls for the other projects.',
    fix: 'Give each project keys of its own: `signingFile` of each endpoint.',
  },
} as const satisfies CodeEntries;

export const ENGINE_CODES = {
  'claim-lost': {
    title: 'The claim was lost',
    when: 'Another worker owns the execution now, or the session of this worker has ended.',
    state: 'Recorded steps stay. This worker can write nothing more.',
    fix: 'No action is needed: another worker continues. If it repeats, check for pauses, or raise `ttlMs`.',
  },
  'claim-not-held': {
    title: 'The claim has too little time left',
    when: '`assertHeld` found less authority left than the margin you asked for.',
    state: 'The step stops before its effect.',
    fix: 'Let the error pass: the step is tried again. Ask for a smaller margin if effects are short.',
  },
  'history-differs': {
    title: 'The history has another event',
    when: 'Something else wrote to the execution under the same claim.',
    state: 'This worker recorded nothing more; the execution is blocked.',
    fix: 'Find out what wrote, then resume the execution: `holdfast resume <id>`.',
  },
  'dry-replay': {
    title: 'A replay was about to write',
    when: 'A preflight replays history without writing, and the code reached a call that writes.',
    state: NOT_WRITTEN,
    fix: 'No action is needed: the preflight reports where the code continued.',
  },
  'worker-stopping': {
    title: 'The worker is stopping',
    when: 'The worker was asked to stop, and `stopGraceMs` has passed. The abort signal of a step has this code.',
    state: 'Recorded steps stay; the execution is given back.',
    fix: 'No action is needed: another worker continues. Raise `stopGraceMs` if steps need longer.',
  },
  'worker-waiting': {
    title: 'The coordinator does not respond yet',
    when: 'A worker started before its coordinator, or has the wrong URL.',
    state: 'The worker waits and tries again.',
    fix: 'Start the coordinator, or check the `url` of `openWorker`. Set `connectMs` to bound the wait.',
  },
  'not-claimed': {
    title: 'The worker could not claim',
    when: 'Claiming executions failed. The log line has the cause.',
    state: TRIED_AGAIN,
    fix: 'Check the store or the coordinator.',
  },
  'not-announced': {
    title: 'The worker could not be announced',
    when: 'Announcing the pipelines of this worker failed. The log line has the cause.',
    state: 'The worker still claims; `holdfast workers` may not show it.',
    fix: 'Check the store or the coordinator.',
  },
  'worker-refused': {
    title: 'The release of this worker was refused',
    when: 'The worker announced a release that is not registered, is retired, or has another digest or contract.',
    state: 'The worker gets no pinned executions.',
    fix: 'Register the release with `holdfast releases register`, or deploy the registered build.',
  },
  'session-not-ended': {
    title: 'The session of the worker was not ended',
    when: 'The worker stopped, and the store did not confirm the end of its session.',
    state: 'The session lapses by itself; other workers take over after its ttl.',
    fix: 'No action is needed.',
  },
  'not-run': {
    title: 'An execution could not be run',
    when: 'The engine failed while it ran an execution. This is a bug in Holdfast. The log line has the stack.',
    state: 'The execution is blocked; its recorded steps stay.',
    fix: 'Report the stack, then resume the execution: `holdfast resume <id>`.',
  },
  'listener-threw': {
    title: 'A listener of a signal threw',
    when: 'Your code added a listener to an abort signal of an execution, and the listener threw.',
    state: 'The execution continues.',
    fix: 'Catch errors in the listener.',
  },
  'schedules-not-read': {
    title: 'Due schedules could not be read',
    when: 'Reading due schedules failed. The log line has the cause.',
    state: 'Nothing was submitted; the worker tries again.',
    fix: 'Check the store.',
  },
  'schedule-not-fired': {
    title: 'A schedule could not be fired',
    when: 'Submitting for a schedule failed. The log line has its id and the cause.',
    state:
      'Nothing was submitted for this time. If the plan is wrong, the time is skipped; otherwise a worker tries again.',
    fix: 'Read the cause. Correct the template or the input of the schedule.',
  },
  'awaits-not-read': {
    title: 'Due questions could not be read',
    when: 'Reading questions whose time has passed failed. The log line has the cause.',
    state: 'The questions stay open; the worker tries again.',
    fix: 'Check the store.',
  },
  'store-not-checked': {
    title: 'The invariant check failed',
    when: 'The check of stored rows failed. The log line has the cause.',
    state: 'Nothing was repaired; the worker tries again.',
    fix: 'Check the store.',
  },
  'not-cleaned-up': {
    title: 'Ended executions could not be removed',
    when: 'Archiving or removing ended executions failed. The log line has the cause.',
    state: 'They stay in the store; the coordinator tries again.',
    fix: 'Check the archive and the store.',
  },
  'module-not-loaded': {
    title: 'The module could not be loaded',
    when: '`holdfast dev` found an error in the changed code. The log line has file and line.',
    state: 'The old code keeps running.',
    fix: 'Correct the code and save it.',
  },
  'demo-failed': {
    title: 'The demo failed',
    when: 'A scene of the demo of `holdfast dev` failed. The log line has the cause.',
    state: 'The coordinator keeps running.',
    fix: 'Restart `holdfast dev`.',
  },
} as const satisfies CodeEntries;

export const FAILURE_CODES = {
  thrown: {
    title: 'Code threw a value that is not an error',
    when: 'Code threw something that is not an `Error`, such as text.',
    state: 'The attempt is recorded as failed and tried again.',
    fix: 'Throw an `Error` or a `StepError`.',
  },
  'step-error': {
    title: 'A step threw a StepError',
    when: 'The default code of a `StepError` that was made without `code`.',
    state: 'The attempt is recorded as failed. Its category decides whether it is tried again.',
    fix: 'Pass `code` to `StepError` to tell failures apart.',
  },
  'step-failed': {
    title: 'A step failed for good',
    when: '`ctx.step` throws `StepFailed` after the last attempt. Its `failure` has the cause.',
    state: 'The failure is recorded.',
    fix: 'Catch it in the pipeline, or let the execution fail and re-drive it.',
  },
  'step-timed-out': {
    title: 'A step took too long',
    when: 'An attempt of a step did not finish within its `timeoutMs`.',
    state: 'The attempt is recorded as failed. It may still have its effect.',
    fix: 'Raise `timeoutMs`, or honour the `signal` of the step. Use `idempotencyKey` for effects.',
  },
  'child-failed': {
    title: 'A child execution did not complete',
    when: 'A child that the pipeline waits for failed, was cancelled, quarantined or compensated.',
    state: 'The end of the child is recorded.',
    fix: 'Catch `ChildFailed`, or re-drive the child.',
  },
  'execution-failed': {
    title: 'The execution did not complete',
    when: '`result` throws `ExecutionFailed`. Its `status` and `failure` name the end.',
    state: 'The execution has ended.',
    fix: 'Read the failure. Re-drive it with `holdfast redrive <id>`.',
  },
  'execution-cancelled': {
    title: 'The execution was cancelled',
    when: 'An operator, a parent or a caller cancelled the execution.',
    state: 'Calls of `ctx` are refused. Registered compensations run.',
    fix: 'Clean up without calls of `ctx`, then let the error pass.',
  },
  poison: {
    title: 'The execution kills its workers',
    when: 'Several claims in a row recorded nothing, and the worker of each died or was lost.',
    state: 'The execution is quarantined, with a dead letter.',
    fix: 'Find out why it crashes its worker, deploy a fix, and re-drive it.',
  },
  'compensation-missing': {
    title: 'A compensation is missing',
    when: 'The history has a step with a compensation, and the deployed code has none for it.',
    state: 'The execution is quarantined; the other compensations stay done.',
    fix: 'Deploy code that has the compensation, and run `holdfast redrive <id> --mode compensate`.',
  },
  'compensation-failed': {
    title: 'A compensation failed',
    when: 'A compensation failed after its last attempt.',
    state: 'The execution is quarantined; the other compensations stay done.',
    fix: 'Fix the cause, and run `holdfast redrive <id> --mode compensate`, or skip the compensation.',
  },
} as const satisfies CodeEntries;
