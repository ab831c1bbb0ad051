// Codes of workers: the worker protocol, its transports, the engine, and failures of executions.

import { entries, handling, sentWith } from './entry.ts';

const NOT_WRITTEN = 'Nothing was written.';
const TRIED_AGAIN = 'No execution is lost; the worker tries again.';

export const PROTOCOL_CODES = entries({
  'version-unknown': {
    title: 'The protocol version is not supported',
    when: 'Worker and coordinator have no version of the worker protocol in common.',
    state: 'Nothing was done.',
    fix: 'Upgrade the older of the two.',
    ...sentWith(400, 'after-fix', 'operator'),
  },
  'kind-unknown': {
    title: 'There is no such message',
    when: 'A worker sent a message kind that the worker protocol does not have.',
    state: 'Nothing was done.',
    fix: 'Correct the kind. The message suggests the nearest one.',
    ...sentWith(400, 'after-fix', 'developer'),
  },
  'control-unknown': {
    title: 'The envelope has an unknown field',
    when: 'A worker sent an envelope with a field that this version of the worker protocol does not have.',
    state: 'Nothing was done.',
    fix: 'Remove the field, or upgrade the coordinator.',
    ...sentWith(400, 'after-fix', 'developer'),
  },
  'signature-expired': {
    title: 'The signature of the message has expired',
    when: 'A message waited in the queue until its signature expired.',
    state: 'Nothing was done.',
    fix: 'Send the message again. If it repeats, compare the clocks, and check how long messages wait in the queue.',
    ...sentWith(403, 'safe', 'caller'),
  },
  'pipeline-unknown': {
    title: 'No worker has announced the pipeline',
    when: 'The response of a submit has this warning: no worker has announced the pipeline yet.',
    state: 'The store has the execution, which waits for a worker.',
    fix: 'Check the name of the pipeline, or start a worker that runs it.',
    ...handling('not-needed', 'caller'),
  },
  'not-remote': {
    title: 'A remote worker cannot do this',
    when: 'Code called `ctx.transaction`, or spawned from a template, in a worker that does not have the store itself.',
    state: NOT_WRITTEN,
    fix: 'Run the pipeline embedded (`openHoldfast`). For a push handler, pass `coordinator: { url, key }`.',
    ...handling('after-fix', 'developer'),
  },
  'queue-unavailable': {
    title: 'The queue cannot be read',
    when: 'The coordinator could not receive messages from SQS. A log line has the cause.',
    state: 'Messages stay in the queue.',
    fix: 'Check the URL of the queue, region and credentials. The coordinator tries again.',
    ...handling('automatic', 'operator'),
  },
  'queued-answer-refused': {
    title: 'An answer from the queue was refused',
    when: 'A message in the queue of answers was not signed, named no open question, or did not fit it. The log line has the cause.',
    state:
      'The message stays in the queue, and SQS delivers it again until its redrive policy ends that.',
    fix: 'Correct the sender. Give the queue a redrive policy, so that such messages go to a dead-letter queue.',
    ...handling('automatic', 'developer'),
  },
  'message-not-handled': {
    title: 'A queued message was not handled',
    when: 'The coordinator failed to handle a message from SQS, or to send its reply. A log line has the cause.',
    state: 'The message stays in the queue, and SQS delivers it again.',
    fix: 'Read the cause. At the sixth delivery, the coordinator moves the message to the poison queue (`sqs.poisonQueueUrl`).',
    ...handling('automatic', 'operator'),
  },
  'push-not-there': {
    title: 'A push endpoint does not respond',
    when: 'A push endpoint did not respond to a probe, or its response was not valid. The coordinator logs this once, until the endpoint responds.',
    state: 'The coordinator claims nothing for this endpoint.',
    fix: 'Check that the endpoint runs, that its URL is right, and that both sides have the same signing key.',
    ...handling('automatic', 'operator'),
  },
  'push-not-claimed': {
    title: 'Nothing could be claimed for a push endpoint',
    when: 'The coordinator failed to claim executions for a push endpoint. A log line has the cause.',
    state: NOT_WRITTEN,
    fix: 'Check the store. The coordinator tries again.',
    ...handling('automatic', 'operator'),
  },
  'push-not-settled': {
    title: 'A push call was not settled',
    when: 'The coordinator failed to call a push endpoint, or to write its result.',
    state:
      'Recorded steps stay. The coordinator gives the execution back, and a worker or endpoint claims it again.',
    fix: 'Read the cause in the log line, and check the store.',
    ...handling('automatic', 'operator'),
  },
  'push-unknown': {
    title: 'The result of a push call is unknown',
    when: 'The push endpoint did not return a valid result within its time limit.',
    state:
      'Steps that the endpoint ran may have had their effect. The coordinator calls the endpoint again.',
    fix: 'Check the endpoint and its `timeoutMs`. Pass `coordinator` to the handler, so that it records each step at once.',
    ...handling('automatic', 'developer', 'operator'),
  },
  'push-release-refused': {
    title: 'The release of a push endpoint was refused',
    when: 'The push endpoint announced a release that the project does not have, that an operator retired, or that has another digest or contract.',
    state: 'The endpoint gets no pinned executions.',
    fix: 'Register the release, or deploy the registered build.',
    ...handling('after-fix', 'operator'),
  },
  'push-keys-shared': {
    title: 'Push endpoints of several projects share keys',
    when: 'The coordinator calls push endpoints of different projects with the same signing keys. It logs this at its start.',
    state: 'Calls work. A holder of the keys can forge calls for the other projects.',
    fix: 'Give each project keys of its own: `signingFile` of each endpoint.',
    ...handling('not-needed', 'operator'),
  },
});

export const ENGINE_CODES = entries({
  'claim-lost': {
    title: 'The claim was lost',
    when: 'Another worker owns the execution now, or the session of this worker has ended.',
    state: 'Recorded steps stay. This worker can write nothing more for the execution.',
    fix: 'Do nothing: another worker continues. If it repeats, look for long pauses of the process, or raise `ttlMs`.',
    ...handling('automatic'),
  },
  'claim-not-held': {
    title: 'The claim has too little time left',
    when: '`assertHeld` in a step found less time left in the claim than the margin you asked for.',
    state: 'The step stops before its effect.',
    fix: 'Let the error pass: the owner of the execution tries the step again. Ask for a smaller margin if effects are short.',
    ...handling('automatic', 'developer'),
  },
  'history-differs': {
    title: 'The history has another event',
    when: 'Something else wrote to the execution under the same claim.',
    state: 'This worker recorded nothing more, and it blocks the execution.',
    fix: 'Find out which program wrote. Then resume the execution: `holdfast resume <id>`.',
    ...handling('after-fix', 'operator'),
  },
  'dry-replay': {
    title: 'A replay was about to write',
    when: 'A preflight replays history without writing, and the code reached a call that writes.',
    state: NOT_WRITTEN,
    fix: 'Do nothing: the preflight reports where the code continued.',
    ...handling('not-needed'),
  },
  'worker-stopping': {
    title: 'The worker is stopping',
    when: 'The worker is stopping, and `stopGraceMs` has passed. The abort signal of a step has this code.',
    state: 'Recorded steps stay. The worker gives the execution back.',
    fix: 'Do nothing: another worker continues. Raise `stopGraceMs` if steps need longer.',
    ...handling('automatic'),
  },
  'stream-refused': {
    title: 'The stream could not be opened, so the worker or client sends requests',
    when: 'The coordinator offers a stream, and opening it failed. Often a proxy in between does not pass the upgrade to WebSocket.',
    state: 'The worker or client works over HTTP requests, which are slower, and tries again.',
    fix: 'Let the proxy pass the headers `Upgrade` and `Connection`, or pass `stream: false` to `openWorker` or `HoldfastClient`.',
    ...handling('automatic', 'operator'),
  },
  'worker-waiting': {
    title: 'The coordinator does not respond yet',
    when: 'A worker started before its coordinator, or has the wrong URL.',
    state: 'The worker waits and tries again.',
    fix: 'Start the coordinator, or check the `url` of `openWorker`. Set `connectMs` to bound the wait.',
    ...handling('automatic', 'operator'),
  },
  'not-claimed': {
    title: 'The worker could not claim',
    when: 'Claiming executions failed. The log line has the cause.',
    state: TRIED_AGAIN,
    fix: 'Check the store or the coordinator.',
    ...handling('automatic', 'operator'),
  },
  'not-announced': {
    title: 'The worker could not be announced',
    when: 'Announcing the pipelines of this worker failed. The log line has the cause.',
    state: 'The worker still claims; `holdfast workers` may not show it.',
    fix: 'Check the store or the coordinator.',
    ...handling('automatic', 'operator'),
  },
  'worker-refused': {
    title: 'The release of this worker was refused',
    when: 'The worker announced a release that the project does not have, that an operator retired, or that has another digest or contract.',
    state: 'The worker gets no pinned executions.',
    fix: 'Register the release with `holdfast releases register`, or deploy the registered build.',
    ...handling('after-fix', 'operator'),
  },
  'session-not-ended': {
    title: 'The session of the worker was not ended',
    when: 'The worker stopped, and the store did not confirm the end of its session.',
    state: 'The session lapses by itself; other workers take over after its ttl.',
    fix: 'Do nothing.',
    ...handling('automatic'),
  },
  'sessions-not-extended': {
    title: 'Sessions got no extra time after the start',
    when: 'A coordinator started, and the store did not confirm that it gave sessions time to rejoin.',
    state:
      'Sessions of clients that were without a coordinator for longer than their ttl may expire.',
    fix: 'Check that the store responds. Nothing else is needed: clients open new sessions.',
    ...handling('automatic'),
  },
  'not-run': {
    title: 'An execution could not be run',
    when: 'The engine failed while it ran an execution. This is a bug in Holdfast. The log line has the stack.',
    state: 'The worker blocks the execution. Its recorded steps stay.',
    fix: 'Report the stack, then resume the execution: `holdfast resume <id>`.',
    ...handling('after-fix', 'operator'),
  },
  'listener-threw': {
    title: 'A listener of a signal threw',
    when: 'Your code added a listener to an abort signal of an execution, and the listener threw.',
    state: 'The execution continues.',
    fix: 'Catch errors in the listener.',
    ...handling('not-needed', 'developer'),
  },
  'schedules-not-read': {
    title: 'Due schedules could not be read',
    when: 'Reading due schedules failed. The log line has the cause.',
    state: 'No schedule submitted an execution. The worker tries again.',
    fix: 'Check the store.',
    ...handling('automatic', 'operator'),
  },
  'schedule-not-fired': {
    title: 'A schedule could not be fired',
    when: 'Submitting for a schedule failed. The log line has its id and the cause.',
    state:
      'The schedule submitted nothing for this time. If its plan or input is wrong, it skips this time. Otherwise a worker tries again.',
    fix: 'Read the cause. Correct the template or the input of the schedule.',
    ...handling('automatic', 'operator'),
  },
  'awaits-not-read': {
    title: 'Due questions could not be read',
    when: 'Reading questions whose time has passed failed. The log line has the cause.',
    state: 'The questions stay open; the worker tries again.',
    fix: 'Check the store.',
    ...handling('automatic', 'operator'),
  },
  'store-not-checked': {
    title: 'The invariant check failed',
    when: 'The check of stored rows failed. The log line has the cause.',
    state: 'The worker repaired nothing, and tries again.',
    fix: 'Check the store.',
    ...handling('automatic', 'operator'),
  },
  'not-cleaned-up': {
    title: 'Ended executions could not be removed',
    when: 'Archiving or removing ended executions failed. The log line has the cause.',
    state: 'They stay in the store; the coordinator tries again.',
    fix: 'Check the archive and the store.',
    ...handling('automatic', 'operator'),
  },
  'not-rolled-up': {
    title: 'The figures over time could not be updated',
    when: 'Counting ended executions for `GET /v1/trends` failed. The log line has the cause.',
    state: 'The figures stay as they were; the coordinator or worker tries again.',
    fix: 'Check the store.',
    ...handling('automatic', 'operator'),
  },
  'not-delivered': {
    title: 'The messages of channels could not be read or recorded',
    when: 'The coordinator could not read or record the messages that it delivers. The log line has the cause.',
    state: 'Messages wait. One that was sent and not recorded is sent again with the same id.',
    fix: 'Check the store.',
    ...handling('automatic', 'operator'),
  },
  'alerts-not-checked': {
    title: 'The alerts of channels could not be checked',
    when: 'The coordinator could not read the figures of a project, or record its alerts. The log line has the cause.',
    state: 'No alert was raised or cleared. The next round checks again.',
    fix: 'Check the store.',
    ...handling('automatic', 'operator'),
  },
  'module-not-loaded': {
    title: 'The module could not be loaded',
    when: '`holdfast dev` found an error in the changed code. The log line has file and line.',
    state: 'The old code keeps running.',
    fix: 'Correct the code and save it: `holdfast dev` then loads it.',
    ...handling('automatic', 'developer'),
  },
  'demo-failed': {
    title: 'The demo failed',
    when: 'A scene of the demo of `holdfast dev` failed. The log line has the cause.',
    state: 'The coordinator keeps running.',
    fix: 'Restart `holdfast dev`.',
    ...handling('after-fix', 'developer'),
  },
});

export const FAILURE_CODES = entries({
  'input-refused': {
    title: 'The pipeline refused its input',
    when: 'A worker checked the stored input with the schema of the pipeline, which refused it. The message has the issues.',
    state: 'The execution fails, and its code did not run.',
    fix: 'Re-drive it with another input: `holdfast redrive <id> --input <json>`. If the input is right, deploy code that accepts it first.',
    ...handling('no', 'caller', 'developer'),
  },
  thrown: {
    title: 'Code threw a value that is not an error',
    when: 'Code threw something that is not an `Error`, such as text.',
    state:
      'The history keeps the failed attempt. The worker tries again while the step has attempts left.',
    fix: 'Throw an `Error` or a `StepError`.',
    ...handling('automatic', 'developer'),
  },
  'step-error': {
    title: 'A step threw a StepError',
    when: 'Code threw a `StepError` without a `code`.',
    state:
      'The history keeps the failed attempt. The category of the error decides whether the worker tries again.',
    fix: 'Pass `code` to `StepError`, so that you can distinguish its failures.',
    ...handling('automatic', 'developer'),
  },
  'step-failed': {
    title: 'A step failed for good',
    when: '`ctx.step` throws `StepFailed` after the last attempt. Its `failure` has the cause.',
    state: 'The history keeps the failure.',
    fix: 'Catch it in the pipeline, or let the execution fail and re-drive it.',
    ...handling('no', 'developer'),
  },
  'attempt-over': {
    title: 'An attempt of a step has ended',
    when: '`step.heartbeat()` was called after its attempt had returned or thrown.',
    state: 'Nothing was written.',
    fix: 'Await everything that the step begins. Pass the `signal` of the step on, so that its work stops with it.',
    ...handling('no', 'developer'),
  },
  'circuit-open': {
    title: 'A circuit is open',
    when: 'Attempts of steps with the same `circuit` failed several times in a row, so the service that they call is likely down.',
    state:
      'No further attempt began. The history keeps the delay, which counts as no attempt. The worker tries the service again after `openMs`, with one attempt.',
    fix: 'Repair the service. If it works, look at the failures before this one, or raise `failuresMax`.',
    ...handling('automatic', 'operator'),
  },
  'step-silent': {
    title: 'A step sent no heartbeat',
    when: 'An attempt of a step did not call `step.heartbeat()` for its `heartbeatTimeoutMs`.',
    state:
      'The history keeps the failed attempt, which may still have its effect. The worker tries again while the step has attempts left, with the last details.',
    fix: 'Call `heartbeat` more often, raise `heartbeatTimeoutMs`, or find out where the step hangs. Honour the `signal` of the step.',
    ...handling('automatic', 'developer'),
  },
  'step-timed-out': {
    title: 'A step took too long',
    when: 'An attempt of a step did not finish within its `timeoutMs`.',
    state:
      'The history keeps the failed attempt, which may still have its effect. The worker tries again while the step has attempts left.',
    fix: 'Raise `timeoutMs`, or honour the `signal` of the step. Use `idempotencyKey` for effects.',
    ...handling('automatic', 'developer'),
  },
  'child-failed': {
    title: 'A child execution did not complete',
    when: 'The pipeline waits for a child that ended as failed, cancelled, quarantined or compensated.',
    state: 'The history keeps the end of the child.',
    fix: 'Catch `ChildFailed`, or re-drive the child.',
    ...handling('no', 'developer'),
  },
  'execution-failed': {
    title: 'The execution did not complete',
    when: '`result` throws `ExecutionFailed`: the execution ended without a result. Its `status` and `failure` name the end.',
    state: 'The execution has ended, with all its recorded steps.',
    fix: 'Read the failure, and remove its cause. Then re-drive the execution with `holdfast redrive <id>`.',
    ...handling('no', 'caller'),
  },
  'execution-cancelled': {
    title: 'The execution was cancelled',
    when: 'An operator, a parent or a caller cancelled the execution.',
    state: 'Later calls of `ctx` throw this error. Registered compensations run.',
    fix: 'To clean up, use `ctx.scope`, or compensations. Then let the error pass.',
    ...handling('no', 'developer'),
  },
  'cleanup-timed-out': {
    title: 'A cleanup took too long',
    when: 'The execution was cancelled in a `ctx.scope`, and its cleanups were not over within `cleanupMs`.',
    state:
      'Finished steps of the cleanups stay recorded. The execution ends as failed, with a dead letter, after its compensations.',
    fix: 'Clean up the rest by hand. Pass a longer `cleanupMs`, or remove the cause of the delay.',
    ...handling('no', 'developer'),
  },
  poison: {
    title: 'The execution kills its workers',
    when: 'Several claims in a row recorded nothing, and each of their workers died or lost its session.',
    state: 'The execution ends as quarantined, with a dead letter.',
    fix: 'Find out why it crashes its worker, deploy a fix, and re-drive it.',
    ...handling('after-fix', 'developer'),
  },
  'compensation-missing': {
    title: 'A compensation is missing',
    when: 'The history has a step with a compensation, and the deployed code has none for it.',
    state: 'The execution ends as quarantined. Compensations that ran stay done.',
    fix: 'Deploy code that has the compensation, and run `holdfast redrive <id> --mode compensate`.',
    ...handling('after-fix', 'developer'),
  },
  'compensation-failed': {
    title: 'A compensation failed',
    when: 'A compensation failed after its last attempt, and its failure has no recorded cause. With a cause, the execution ends with the code of that failure.',
    state: 'The execution ends as quarantined. Compensations that ran stay done.',
    fix: 'Fix the cause, and run `holdfast redrive <id> --mode compensate`, or skip the compensation.',
    ...handling('after-fix', 'developer'),
  },
});
