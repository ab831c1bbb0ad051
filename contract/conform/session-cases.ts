// Cases about the session: heartbeats, authority, fences, operators, and the stop.

import { systemTimers } from '../../src/support/timer.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { cutConnection, type Exchange, type ObservedMessage, writesIn } from './fault-proxy.ts';
import {
  describeRefusals,
  kindIn,
  Nonconforming,
  refusedIn,
  requireSame,
  requireThat,
  type Stage,
} from './stage.ts';
import { callsIn } from './work-cases.ts';

/** Slack for a busy machine. */
const SLACK_MS = 500;

function isHeartbeat({ kind }: ObservedMessage): boolean {
  return kind === 'heartbeat';
}

/** The result of a write to the execution, if the store refused it. */
function refusalOf({ reply, ...message }: Exchange, id: string): string | undefined {
  const { results = [] } = (reply?.json ?? {}) as {
    readonly results?: readonly { readonly kind: string; readonly why?: string }[];
  };
  const nth = writesIn(message).findIndex((write) => write.id === id);
  const result = nth < 0 ? undefined : results[nth];
  return result?.kind === 'refused' ? result.why : undefined;
}

async function beatsDuringStep(stage: Stage): Promise<void> {
  const { id: session, ttlMs } = stage.session;
  const id = await stage.submit('conform-slow', { ms: Math.round(1.5 * ttlMs) });
  await stage.completes(id, 'done');
  const times = stage.exchanges
    .filter((each) => isHeartbeat(each) && each.body['id'] === session)
    .map(({ at }) => at);
  const claims = (await stage.history(id)).filter(({ kind }) => kind === 'claimed').length;
  requireThat(
    times.length >= 3,
    `The worker sent ${times.length} heartbeats in ${1.5 * ttlMs} ms, with a ttl of ${ttlMs} ms.`,
  );
  const gapMs = Math.max(...times.slice(1).map((at, nth) => at - (times[nth] ?? at)));
  requireThat(
    gapMs <= ttlMs / 2 + SLACK_MS,
    `The longest pause between two heartbeats was ${Math.round(gapMs)} ms, with a ttl of ${ttlMs} ms.`,
  );
  requireThat(claims === 1, `The execution was claimed ${claims} times.`);
}

async function repeatsHeartbeat(stage: Stage): Promise<void> {
  const { id: session } = stage.session;
  stage.proxy.plan(isHeartbeat, cutConnection);
  const cutBeat = await stage.until('the worker sent no heartbeat', () =>
    stage.exchanges.find((each) => isHeartbeat(each) && each.isFaulted === true),
  );
  await stage.until('no heartbeat followed the one that was cut', () =>
    stage.exchanges.find((each) => isHeartbeat(each) && each.at > cutBeat.at && each.reply),
  );
  requireThat(stage.session.id === session, 'The worker opened another session.');
}

/** Cuts heartbeats until the authority of the worker is over, while a step runs. */
async function continuesAfterLapse(stage: Stage): Promise<void> {
  const { authorityMs } = stage.session;
  const remove = stage.proxy.plan(isHeartbeat, cutConnection, Number.POSITIVE_INFINITY);
  const id = await stage.submit('conform-slow', { ms: authorityMs + SLACK_MS });
  try {
    await stage.claimed(id);
    await systemTimers.pause(authorityMs);
    await stage.until('the worker sent no heartbeat', () =>
      stage.exchanges.find((each) => isHeartbeat(each) && each.isFaulted === true),
    );
  } finally {
    remove();
  }
  await stage.completes(id, 'done');
}

/** So long that a heartbeat is refused well before the step ends. */
const SLOW_MS = 3_500;
/** A busy machine delivers the reply to a heartbeat late. */
const REPLY_MS = 2_000;

/** Ends the worker's session while a step runs, and completes the execution elsewhere. */
async function actsWhenReplaced(stage: Stage): Promise<void> {
  const { id: session } = stage.session;
  const id = await stage.submit('conform-slow', { ms: SLOW_MS });
  const fence = await stage.claimed(id);
  await stage.withoutClaims(async () => {
    await stage.endSession();
    const claim = await stage.claimElsewhere(id, 'conform-slow');
    const out = { v: 'theirs' };
    await stage.writeElsewhere('finish', claim, {
      events: [{ kind: 'completed', body: JSON.stringify({ out }) }],
      status: 'completed',
      outcome: JSON.stringify({ id, status: 'completed', out }),
    });
    await stage.leaveElsewhere(claim);
  });
  await systemTimers.pause(SLOW_MS + REPLY_MS);
  const stale = stage
    .writesTo(id)
    .filter((each) => writesIn(each).some((write) => write.id === id && write.fence === fence));
  const refused = stale.findIndex((each) => refusalOf(each, id) !== undefined);
  const after = refused < 0 ? [] : stale.slice(refused + 1);
  const [first] = after;
  const why = stale[refused] === undefined ? '' : refusalOf(stale[refused], id);
  requireThat(
    first === undefined,
    `After a write was refused as ${why}, the worker sent ${after.length} more with the old fence ${fence}, the first with verb ${first && writesIn(first)[0]?.verb}.`,
  );
  const beaten = stage.exchanges.find(
    (each) =>
      isHeartbeat(each) && each.body['id'] === session && kindIn(each.reply?.json) === 'refused',
  );
  const late = stale.find(({ at }) => beaten !== undefined && at > beaten.at + REPLY_MS);
  requireThat(
    late === undefined,
    'After a heartbeat was refused, the worker still sent a write with the old fence.',
  );
  await stage.completes(id, 'theirs');
}

async function opensAnotherSession(stage: Stage): Promise<void> {
  const { id: session } = stage.session;
  await stage.endSession();
  await stage.until('the worker did not open another session', () =>
    stage.session.id === session ? undefined : true,
  );
  await stage.completes(await stage.submit('conform-echo', 'again'), 'again');
}

async function announces(stage: Stage): Promise<void> {
  const all = stage.proxy.exchanges;
  const ready = ({ kind, body }: Exchange): boolean =>
    kind === 'announceWorker' && body['state'] === 'ready';
  const first = await stage.until('the worker announced no state ready', () => all.find(ready));
  const everyMs = Number(first.body['everyMs']);
  const claimed = all.findLast(({ kind }) => kind === 'claimExecutions')?.body['pipelines'];
  requireSame(
    'The list of announced pipelines',
    [...((first.body['pipelines'] ?? []) as readonly string[])].sort(),
    [...((claimed ?? []) as readonly string[])].sort(),
  );
  const count = all.filter(ready).length;
  const next = await stage.proxy.until(
    () => (all.filter(ready).length > count ? true : undefined),
    2 * everyMs + SLACK_MS,
  );
  requireThat(
    next !== undefined,
    `The worker announced everyMs ${everyMs}, and no announcement followed in twice that time.`,
  );
}

const CANCELLED_MS = 3_000;

async function cancels(stage: Stage): Promise<void> {
  const id = await stage.submit('conform-slow', { ms: CANCELLED_MS });
  await stage.claimed(id);
  await stage.client.executions.cancel(id, 'a conformance case');
  const { status } = await stage.ended(id);
  requireSame('The status', status, 'cancelled');
  const calls = callsIn(await stage.history(id));
  requireThat(
    !calls.includes('step-completed step:after#1'),
    'The worker ran the step "after", which follows the cancelled one.',
  );
}

async function pauses(stage: Stage): Promise<void> {
  const id = await stage.submit('conform-slow', { ms: SLOW_MS });
  await stage.claimed(id);
  await stage.client.executions.pause(id, 'a conformance case');
  await stage.event(id, 'paused');
  await stage.client.executions.resume(id, 'a conformance case');
  await stage.completes(id, 'done');
  const steps = callsIn(await stage.history(id)).filter((each) => each.startsWith('step-'));
  const expected = ['work', 'after'].map((name) => `step-completed step:${name}#1`);
  requireSame('The recorded steps', steps, expected);
}

const DRAIN_MS = 600_000;

async function drains(stage: Stage): Promise<void> {
  const { id: session } = stage.session;
  const id = await stage.submit('conform-slow', { ms: DRAIN_MS });
  const fence = await stage.claimed(id);
  const before = stage.proxy.exchanges.length;
  const stopped = stage.stopWorker();
  const since = (): readonly Exchange[] => stage.proxy.exchanges.slice(before);
  await stage.until('the worker did not announce the state draining', () =>
    since().find(({ kind, body }) => kind === 'announceWorker' && body['state'] === 'draining'),
  );
  await stage.until('the worker did not end its session', () =>
    since().find(({ kind, body }) => kind === 'endSession' && body['id'] === session),
  );
  await stopped;
  const from = since().findIndex(
    ({ kind, body }) => kind === 'announceWorker' && body['state'] === 'draining',
  );
  const claims = since()
    .slice(from)
    .filter(({ kind }) => kind === 'claimExecutions').length;
  requireThat(claims === 0, `The worker claimed ${claims} times after it announced draining.`);
  const given = since().some((each) =>
    writesIn(each).some((write) => write.fence === fence && write.verb === 'giveBack'),
  );
  requireThat(given, 'The worker ended its session without giving its claim back.');
}

export const sessionCases: readonly ConformanceCase[] = [
  {
    name: 'announce',
    upholds: 'M-12',
    section: 'announceworker',
    expects: 'The worker announces state ready with the pipelines that it claims, every everyMs.',
    hosts: [],
    run: announces,
  },
  {
    name: 'heartbeat',
    upholds: 'M-12',
    section: 'heartbeat',
    expects:
      'During a long step the worker sends a heartbeat about every third of the ttl, and keeps its claim.',
    hosts: ['conform-slow'],
    run: beatsDuringStep,
  },
  {
    name: 'lost-heartbeat',
    upholds: 'M-2',
    section: 'heartbeat',
    expects: 'A heartbeat without a reply is sent again, and the session stays the same.',
    hosts: [],
    run: repeatsHeartbeat,
  },
  {
    name: 'authority',
    upholds: 'X-1',
    section: 'opensession',
    expects:
      'A worker whose heartbeats fail for longer than authorityMs completes its execution once they succeed again.',
    hosts: ['conform-slow'],
    run: continuesAfterLapse,
  },
  {
    name: 'cancel',
    upholds: 'M-9',
    section: 'cancel-and-pause',
    expects: 'A running execution that is cancelled starts no further step, and ends as cancelled.',
    hosts: ['conform-slow'],
    run: cancels,
  },
  {
    name: 'pause',
    upholds: 'M-9',
    section: 'cancel-and-pause',
    expects:
      'A running execution that is paused is given back as paused, and continues after a resume.',
    hosts: ['conform-slow'],
    run: pauses,
  },
  {
    name: 'replaced',
    upholds: 'M-3',
    section: 'writes',
    expects:
      'After a refused write or heartbeat, the worker writes nothing more with the old fence.',
    hosts: ['conform-slow'],
    run: actsWhenReplaced,
  },
  {
    name: 'session-ended',
    upholds: 'M-3',
    section: 'heartbeat',
    expects: 'After its session was ended, the worker opens another one and claims again.',
    hosts: ['conform-echo'],
    run: opensAnotherSession,
  },
  {
    name: 'drain',
    upholds: 'M-9',
    section: 'stop-a-worker',
    expects:
      'A worker that is asked to stop announces draining, claims nothing more, gives its claims back and ends its session.',
    hosts: ['conform-slow'],
    run: drains,
  },
  {
    name: 'messages',
    upholds: 'M-5, M-31',
    section: 'rules-for-every-message',
    expects: 'The coordinator refused no message of the worker during all cases.',
    hosts: [],
    async run({ proxy }) {
      // A session that a case ended is unknown or over, and executions of other cases may be gone.
      const wrong = refusedIn(proxy.exchanges).filter(
        ({ reply }) =>
          reply?.status !== 404 ||
          (reply.json as { readonly code?: string } | undefined)?.code === 'route-unknown',
      );
      if (wrong.length > 0) throw new Nonconforming(describeRefusals(wrong));
    },
  },
];
