// The suite of transports: what one message costs over each transport, and the same executions by a worker over each,
// in alternating rounds on one coordinator.

import { join } from 'node:path';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { Pipeline } from '../../src/engine/pipeline.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { openWorker, type Worker } from '../../src/worker/open-worker.ts';
import { alternate, medianRatio, medianRound, type Round } from '../measure.ts';
import type { Result } from '../report.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Plan, Suite } from '../suite.ts';
import { openWays, threeSteps, type Ways } from './ways.ts';

const IN_FLIGHT = 64;

export const transportsSuite: Suite = {
  name: 'transports',
  summary: 'the worker protocol over each of its transports, in one process, on SQLite',
  legend: [
    'message: a greeting and its reply, one at a time.',
    `end to end: submit, three durable steps by a worker over this transport, result; ${IN_FLIGHT} in flight.`,
    'of in-process: rates, to those of a worker that is called in the process of its coordinator.',
    'SQS is fauxqs on loopback, in the same process: its latency is not that of AWS.',
    'push: all three steps in one call; without a way back they are durable when it is answered.',
  ],
  run: runTransportsSuite,
};

async function* runTransportsSuite(plan: Plan): AsyncGenerator<Result, void, void> {
  if (!plan.stores.includes('sqlite')) return;
  const folder = scratchFolder();
  const store = await openSqliteStore({ file: join(folder, 'transports.db') });
  const ways = await openWays(store);
  const holdfast = new Holdfast({ store });
  try {
    plan.progress('messages');
    yield* await messages(plan, ways);
    plan.progress('end to end');
    yield* await endToEnd(plan, ways, holdfast);
  } finally {
    await holdfast.close();
    await ways.close();
    await store.close();
  }
}

function paceOf(plan: Plan) {
  return plan.quick
    ? { rounds: 3, roundMs: 300, warmUpMs: 200 }
    : { rounds: 7, roundMs: 1_000, warmUpMs: 1_000 };
}

async function messages(plan: Plan, { transports }: Ways): Promise<readonly Result[]> {
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

async function endToEnd(plan: Plan, ways: Ways, holdfast: Holdfast): Promise<readonly Result[]> {
  const workers: Worker[] = [];
  const subjects: [string, Pipeline<number, string>][] = [];
  for (const [name, open] of Object.entries(ways.transports)) {
    const three = threeSteps(name.replace(/\W+/g, '-'));
    workers.push(await openWorker({ transport: await open(), pipelines: [three] }));
    subjects.push([name, three]);
  }
  subjects.push(['push', ways.pushed]);
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
