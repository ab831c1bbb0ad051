// The transports suite: one message over each transport, and the same executions by a worker over each.
// The transports take turns on one coordinator.

import { join } from 'node:path';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { Pipeline } from '../../src/engine/pipeline.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openWorker, type Worker } from '../../src/worker/open-worker.ts';
import { alternate, medianRatio, medianRound, type Round } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { openTransportSet, type TransportSet, threeSteps } from './transport-set.ts';

const IN_FLIGHT = 64;

export const transportsSuite: Suite = {
  name: 'transports',
  summary: 'The worker protocol over each transport, in one process, on SQLite',
  legend: [
    'message: a greeting and its reply, one at a time.',
    `end to end: submit, three durable steps by a worker over this transport, result; ${IN_FLIGHT} in flight.`,
    'of in-process: rate divided by that of a worker inside the process of the coordinator.',
    'SQS is fauxqs in the same process, so its latency is not that of AWS.',
    'push: all three steps in one call. Without a coordinator connection, the response makes them durable.',
  ],
  run: runTransportsSuite,
};

async function* runTransportsSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  if (!plan.stores.includes('sqlite')) return;
  const folder = scratchFolder();
  const store = await openSqliteStore({ file: join(folder, 'transports.db') });
  const set = await openTransportSet(store);
  const holdfast = new Holdfast({ store });
  try {
    plan.progress('messages');
    yield* await messages(plan, set);
    plan.progress('end to end');
    yield* await endToEnd(plan, set, holdfast);
  } finally {
    await holdfast.close();
    await set.close();
    await store.close();
  }
}

function paceOf(plan: Plan) {
  return plan.quick
    ? { rounds: 3, roundMs: 300, warmUpMs: 200 }
    : { rounds: 7, roundMs: 1_000, warmUpMs: 1_000 };
}

async function messages(plan: Plan, { transports }: TransportSet): Promise<readonly Result[]> {
  const names = Object.keys(transports);
  const opened = await Promise.all(Object.values(transports).map((open) => open()));
  const rounds = await alternate(
    opened.map((transport) => ({
      inFlight: 1,
      operation: () => transport.request({ kind: 'greet' }),
    })),
    paceOf(plan),
  );
  await Promise.all(opened.map((each) => each.close()));
  return reported('message', names, rounds);
}

async function endToEnd(
  plan: Plan,
  set: TransportSet,
  holdfast: Holdfast,
): Promise<readonly Result[]> {
  const workers: Worker[] = [];
  const subjects: [string, Pipeline<number, string>][] = [];
  for (const [name, open] of Object.entries(set.transports)) {
    const three = threeSteps(name.replace(/\W+/g, '-'));
    workers.push(await openWorker({ transport: await open(), pipelines: [three] }));
    subjects.push([name, three]);
  }
  subjects.push(['push', set.pushed]);
  const rounds = await alternate(
    subjects.map(([, three]) => ({
      inFlight: IN_FLIGHT,
      operation: async () => (await holdfast.submit(three, 1)).result(),
    })),
    paceOf(plan),
  );
  await Promise.all(workers.map((each) => each.stop()));
  return reported(
    'end to end',
    subjects.map(([name]) => name),
    rounds,
  );
}

function reported(
  what: string,
  names: readonly string[],
  rounds: readonly (readonly Round[])[],
): readonly Result[] {
  const [floor = []] = rounds;
  return names.flatMap((name, nth): readonly Result[] => {
    const ours = rounds[nth] ?? [];
    const { perSecond, p50Ms, p99Ms } = medianRound(ours);
    const base = { suite: 'transports', store: 'sqlite', case: `${what} · ${name}`, settings: {} };
    return [
      { ...base, metric: 'rate', value: perSecond, unit: '/s', p50Ms, p99Ms },
      { ...base, metric: 'of in-process', value: medianRatio(ours, floor), unit: '×' },
    ];
  });
}
