// Cases in which messages and replies are lost, repeated or refused.

import { systemTimers } from '../../src/support/timer.ts';
import type { ConformanceCase } from './conformance-case.ts';
import {
  cutConnection,
  doubled,
  edited,
  held,
  type ObservedMessage,
  type ProxyFault,
  replaced,
  replyLost,
  writesIn,
} from './fault-proxy.ts';
import { claimsIn, requireSame, requireThat, type Stage } from './stage.ts';
import { callsIn, stepsOutput } from './work-cases.ts';

type Matching = (id: string) => (message: ObservedMessage) => boolean;

/** A message with a write to this execution, of this verb if one is given. */
const writing =
  (verb?: string): Matching =>
  (id) =>
  (message) =>
    writesIn(message).some(
      (write) => write.id === id && (verb === undefined || write.verb === verb),
    );

const problem = (status: number, code: string): object => ({
  json: {
    type: `urn:holdfast:problem:${code}`,
    title: 'A conformance case',
    status,
    code,
    detail: 'A conformance case refuses this message. Nothing was written.',
  },
});

const RETRY_AFTER_S = 2;

/** The outcome of every write of the message is unknown, and nothing was written. */
const unknownOutcomes: ProxyFault = async (_forward, message) => {
  const fault = { kind: 'fault', code: 'outcome-unknown', detail: 'A conformance case.' };
  return { status: 200, json: { results: writesIn(message).map(() => fault) } };
};

/** Runs `conform-steps` with one fault. Each step must be recorded once, with the right result. */
async function survives(stage: Stage, matching: Matching, fault: ProxyFault): Promise<string> {
  let hasFailed = false;
  const once: ProxyFault = (forward, message) => {
    hasFailed = true;
    return fault(forward, message);
  };
  const id = await stage.withoutClaims(async () => {
    const submitted = await stage.submit('conform-steps', { n: 1 });
    stage.proxy.plan(matching(submitted), once);
    return submitted;
  });
  await stage.completes(id, stepsOutput(id, 2));
  requireSame('The history of calls', callsIn(await stage.history(id)), [
    'step-completed step:one#1',
    'step-completed step:two#1',
    'completed',
  ]);
  requireThat(hasFailed, 'The worker sent no message of this kind.');
  return id;
}

function faultCase(
  about: Pick<ConformanceCase, 'name' | 'upholds' | 'expects'>,
  matching: Matching,
  fault: ProxyFault,
): ConformanceCase {
  return {
    ...about,
    section: 'rules-for-every-message',
    hosts: ['conform-steps'],
    run: async (stage) => {
      await survives(stage, matching, fault);
    },
  };
}

/** The times at which the worker sent a message with a write to the execution. */
function timesOfWrites(stage: Stage, id: string): readonly number[] {
  return stage.writesTo(id).map(({ at }) => at);
}

/** Holds the parking until a signal has arrived. */
async function parksUnread(stage: Stage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const id = await stage.withoutClaims(async () => {
    const submitted = await stage.submit('conform-signal', null);
    stage.proxy.plan(writing('park')(submitted), held(promise));
    return submitted;
  });
  try {
    await stage.until('the worker did not park', () => stage.exchanges.find(writing('park')(id)));
    await stage.client.executions.signal(id, 'go', 1);
  } finally {
    resolve();
  }
  await stage.completes(id, 1);
}

/** Loses the reply to a claim that took the execution. */
async function losesClaim(stage: Stage): Promise<void> {
  const lost: ProxyFault = async (forward) => {
    const reply = await forward();
    return claimsIn(reply.json).length > 0 ? undefined : reply;
  };
  const isClaim = ({ kind }: ObservedMessage): boolean => kind === 'claimExecutions';
  const { id: session } = stage.session;
  const remove = stage.proxy.plan(isClaim, lost, Number.POSITIVE_INFINITY);
  let id: string;
  try {
    id = await stage.submit('conform-steps', { n: 1 });
    await stage.until('the worker sent no listClaims after the lost reply', () =>
      stage.exchanges.find(({ kind }) => kind === 'listClaims'),
    );
  } finally {
    remove();
  }
  await stage.completes(id, stepsOutput(id, 2));
  requireThat(
    stage.session.id === session,
    'The worker opened another session instead of sending listClaims.',
  );
}

const QUIET_MS = 3_000;
const CLAIMS_MAX = 15;

export const faultCases: readonly ConformanceCase[] = [
  faultCase(
    {
      name: 'lost-record',
      upholds: 'M-2',
      expects: 'A record whose reply was lost is sent again with the same content.',
    },
    writing(),
    replyLost,
  ),
  faultCase(
    {
      name: 'lost-finish',
      upholds: 'M-2',
      expects: 'A finish whose reply was lost is sent again with the same content.',
    },
    writing('finish'),
    replyLost,
  ),
  faultCase(
    {
      name: 'cut-connection',
      upholds: 'M-2',
      expects: 'A write that did not reach the coordinator is sent again.',
    },
    writing(),
    cutConnection,
  ),
  faultCase(
    {
      name: 'doubled-write',
      upholds: 'M-1',
      expects: 'The reply to the second delivery of a write counts like the first.',
    },
    writing(),
    doubled,
  ),
  faultCase(
    {
      name: 'server-error',
      upholds: 'M-2',
      expects: 'After a reply with status 500, the worker sends the same message again.',
    },
    writing(),
    replaced({ status: 500, ...problem(500, 'fault') }),
  ),
  {
    name: 'retry-after',
    upholds: 'M-2',
    section: 'rules-for-every-message',
    expects: `After a reply with status 503 and retry-after: ${RETRY_AFTER_S}, the worker waits so many seconds and sends the message again.`,
    hosts: ['conform-steps'],
    async run(stage) {
      const headers = { 'retry-after': String(RETRY_AFTER_S) };
      const refusal = { status: 503, headers, ...problem(503, 'store-unavailable') };
      const id = await survives(stage, writing(), replaced(refusal));
      const [first = 0, second = 0] = timesOfWrites(stage, id);
      const waitedMs = Math.round(second - first);
      requireThat(
        waitedMs >= RETRY_AFTER_S * 1_000 - 50,
        `The worker sent the next write after ${waitedMs} ms.`,
      );
    },
  },
  {
    name: 'write-fault',
    upholds: 'M-10',
    section: 'writes',
    expects:
      'After the result fault with code outcome-unknown, the worker sends the same write again.',
    hosts: ['conform-steps'],
    run: async (stage) => {
      await survives(stage, writing(), unknownOutcomes);
    },
  },
  {
    name: 'lost-claim',
    upholds: 'M-2, X-27',
    section: 'listclaims',
    expects:
      'If the reply to a claim was lost, the worker sends listClaims and runs what it claimed.',
    hosts: ['conform-steps'],
    run: losesClaim,
  },
  {
    name: 'unread-messages',
    upholds: 'M-9, X-5',
    section: 'writes',
    expects:
      'If a park is refused as unread-messages, the worker reads the inbox and decides again.',
    hosts: ['conform-signal'],
    run: parksUnread,
  },
  {
    name: 'lost-wakeup',
    upholds: 'M-11',
    section: 'waitforwakeup',
    expects: 'A wait for a wakeup that fails is begun again, and the worker claims meanwhile.',
    hosts: ['conform-echo'],
    async run(stage) {
      const isWait = ({ kind }: ObservedMessage): boolean => kind === 'waitForWakeup';
      const deaf = edited((json) => ({ ...(json as object), notified: false }));
      const remove = stage.proxy.plan(isWait, deaf, Number.POSITIVE_INFINITY);
      try {
        await stage.completes(await stage.submit('conform-echo', 1), 1);
      } finally {
        remove();
      }
    },
  },
  {
    name: 'idle',
    upholds: 'M-11',
    section: 'waitforwakeup',
    expects: `While nothing is ready, the worker waits for a wakeup: at most ${CLAIMS_MAX} claims in ${QUIET_MS / 1_000} s.`,
    hosts: ['conform-echo'],
    async run(stage) {
      await systemTimers.pause(QUIET_MS);
      const claims = stage.exchanges.filter(({ kind }) => kind === 'claimExecutions').length;
      requireThat(claims <= CLAIMS_MAX, `The worker claimed ${claims} times.`);
    },
  },
];
