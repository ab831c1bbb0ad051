// Clients submit, signal, answer, cancel, pause, resume and erase. Workers run what they claim: some with the
// store itself, some by messages to a coordinator.

import type { Holdfast } from '../../../src/engine/holdfast.ts';
import type { SubmitOptions } from '../../../src/engine/submission.ts';
import { isOutage } from '../../../src/lease/store-call.ts';
import type { Random } from '../../../src/support/random.ts';
import type { Actor, Life } from '../actor.ts';
import { executionModel } from '../checkers/execution-model.ts';
import { executionRules, type Submissions, type Submitted } from '../checkers/executions.ts';
import { slotRules } from '../checkers/slots.ts';
import { type Ledger, ledgerOf } from '../ledger.ts';
import type { PlannedOperation, Workload } from '../plan.ts';
import {
  callerOf,
  holdfastAt,
  type Pace,
  SimulatedNetwork,
  startCoordinator,
  startEmbedded,
  startRemote,
} from '../workers.ts';
import { ACTIVE_MS, between, pick, type World } from '../world.ts';
import { type Input, PANEL, pipelinesAt } from './pipelines.ts';

/** The pipelines to submit. A name that is listed more often is submitted more often. */
const MIX = [
  ...['order', 'order', 'order', 'batch', 'batch', 'family', 'letters', 'letters'],
  ...['question', 'question', 'saga', 'saga', 'chain', 'doomed', 'hurry', 'stubborn'],
  ...['locked', 'locked', 'panel', 'panel', 'panel'],
] as const;

const COMMANDS = [
  'signal',
  'signal',
  'answer',
  'answer',
  'answer all',
  'cancel',
  'pause',
  'pause',
  'resume',
  'redrive',
  'cancel child',
  'erase',
  'erase',
  'look',
  'look',
  'look',
] as const;

type Command =
  | {
      readonly action: 'submit';
      readonly pipeline: string;
      readonly input: Input;
      readonly options: SubmitOptions;
    }
  | { readonly action: (typeof COMMANDS)[number]; readonly nth: number };

export const executions: Workload = {
  name: 'executions',

  plan(random) {
    const count = between(random, 11, 15);
    const submits = Array.from({ length: count }, (_, nth) => planSubmit(random, nth));
    if (random.next() < 0.04) submits.push(planKiller(random, count));
    const commands = Array.from({ length: between(random, 18, 26) }, () =>
      planCommand(random, submits),
    );
    return [...submits, ...commands];
  },

  open(world) {
    const ledger = ledgerOf(world);
    const submissions: Submissions = { known: new Map(), letters: 0 };
    const rules = executionRules(world, ledger, submissions);
    world.checkers.push(rules, executionModel(world), slotRules(world));
    addWorkers(world, ledger);
    const client = world.actor('client', async (life) => holdfastAt(life));
    let rounds = 0;
    world.whenCalm(async () => {
      rounds += 1;
      if (rounds === 1) await readAll(world, client, submissions);
      await answerAll(world, client, submissions);
    });
    return ({ details }) =>
      perform(world, client, { action: details as unknown as Command, submissions });
  },
};

function planSubmit(random: Random, nth: number): PlannedOperation {
  const pipeline = pick(random, MIX);
  const input: Input = { nth, size: between(random, 1, 5) };
  const options: SubmitOptions = {
    key: `k-${nth}`,
    ...(random.next() < 0.2 && { concurrency: { key: 'scarce', limit: 2 } }),
    ...(random.next() < 0.15 && { rate: { key: 'slow', limit: 2, perMs: 1_000 } }),
    ...(random.next() < 0.2 && { delayMs: between(random, 10, 2_000) }),
    ...(random.next() < 0.3 && { lane: 'batch' as const }),
    ...(ALONE.includes(pipeline) && random.next() < 0.15 && { project: NEIGHBOUR }),
    ...(pipeline === 'hurry' && { deadlineMs: between(random, 300, 2_500) }),
    ...(pipeline === 'saga' && random.next() < 0.4 && { deadlineMs: between(random, 300, 2_500) }),
  };
  const atMs = between(random, 0, ACTIVE_MS - 2_000);
  const what = `the client submits ${pipeline} ${nth}, size ${input.size}`;
  return { atMs, of: 'executions', what, details: { action: 'submit', pipeline, input, options } };
}

function planKiller(random: Random, nth: number): PlannedOperation {
  const details = {
    action: 'submit',
    pipeline: 'killer',
    input: { nth, size: 1 },
    options: { key: `k-${nth}` },
  };
  const atMs = between(random, 0, ACTIVE_MS);
  return { atMs, of: 'executions', what: `the client submits killer ${nth}`, details };
}

function planCommand(random: Random, submits: readonly PlannedOperation[]): PlannedOperation {
  const action = pick(random, COMMANDS);
  const fitting = submits.filter(({ details }) => isFor(action, String(details['pipeline'])));
  const submit = pick(random, fitting.length > 0 && random.next() < 0.7 ? fitting : submits);
  const { nth } = submit.details['input'] as Input;
  const soonMs = action === 'cancel child' ? 600 : 4_000;
  const atMs = Math.min(ACTIVE_MS, submit.atMs + between(random, 0, soonMs));
  return {
    atMs,
    of: 'executions',
    what: `the client wants ${action} of ${nth}`,
    details: { action, nth },
  };
}

/** The pipelines that a command is meant for. The others get it now and then. */
const MEANT_FOR: Readonly<Record<string, readonly string[]>> = {
  signal: ['letters', 'letters', 'hurry', 'chain'],
  answer: ['question', 'panel'],
  'answer all': ['panel'],
  'cancel child': ['family'],
  redrive: ['doomed'],
};

function isFor(action: string, pipeline: string): boolean {
  return MEANT_FOR[action]?.includes(pipeline) ?? true;
}

/** A second project. No workload answers or signals its executions. */
const NEIGHBOUR = 'neighbour';
const ALONE: readonly string[] = ['order', 'batch', 'family', 'saga', 'chain', 'doomed'];

const OPERATIONS_MIN = 200;

const PACES: readonly Pace[] = [
  { ttlMs: 1_500, pollMs: 1_200 },
  { ttlMs: 3_000, pollMs: 1_700 },
];

function addWorkers(world: World, ledger: Ledger): void {
  const random = world.stream('workers');
  const pace = pick(random, PACES);
  world.pace = pace;
  const atWork = (life: Life, name: string): ReturnType<typeof pipelinesAt> =>
    pipelinesAt({ world, ledger, life, die: () => world.actors.get(name)?.crash(200) });
  // The first two workers have different releases, so that every pinned execution has a worker.
  const isReleased = random.next() < 0.5;
  let started = 0;
  const releaseOf = (): string | undefined => (isReleased ? `v${(started++ % 2) + 1}` : undefined);
  const concurrency = pick(random, [2, 8]);
  const embedded = isReleased ? 2 : between(random, 1, 2);
  const remote = between(random, 0, 2);
  for (const name of ['worker-1', 'worker-2'].slice(0, remote === 0 ? 2 : embedded)) {
    const release = releaseOf();
    world.actor(name, (life) =>
      startEmbedded(life, { pipelines: atWork(life, name), pace, concurrency, release }),
    );
  }
  if (remote === 0) return;
  const coordinators = ['coordinator-1', 'coordinator-2'].map((name) =>
    world.actor(name, (life) => startCoordinator(life, pace)),
  );
  world.coordinators.push(...coordinators);
  for (const name of ['remote-1', 'remote-2'].slice(0, remote)) {
    const project = pick(random, ['default', 'default', NEIGHBOUR]);
    const caller = callerOf(project);
    const release = project === NEIGHBOUR ? undefined : releaseOf();
    world.actor(name, (life) => {
      const network = new SimulatedNetwork(world, { life, caller }, coordinators);
      return startRemote(life, network, {
        ...{ pipelines: atWork(life, name), pace, concurrency, release },
      });
    });
  }
}

interface Performing {
  readonly action: Command;
  readonly submissions: Submissions;
}

function perform(world: World, client: Actor<Holdfast>, { action, submissions }: Performing): void {
  const { life, inside: holdfast } = byWorker(world, action) ?? client;
  if (life === undefined || holdfast === undefined) return;
  world.operations += 1;
  world.run(life.process, () =>
    action.action === 'submit'
      ? submit({ world, life, holdfast }, action, submissions)
      : command({ world, life, holdfast }, action, submissions),
  );
}

/** Some submits come from the process of a worker, which claims right behind them. */
function byWorker(world: World, action: Command): Actor<Holdfast> | undefined {
  if (action.action !== 'submit' || action.input.nth % 4 !== 0) return undefined;
  return world.actors.get('worker-1') as Actor<Holdfast> | undefined;
}

interface Client {
  readonly world: World;
  readonly life: Life;
  readonly holdfast: Holdfast;
}

/** Repeats a submission until the store has acknowledged it. The key makes that harmless. */
async function submit(
  { world, life, holdfast }: Client,
  { pipeline, input, options }: Extract<Command, { action: 'submit' }>,
  { known }: Submissions,
): Promise<void> {
  for (;;) {
    const { restores } = world;
    try {
      const { id } = await holdfast.submit(pipeline, input, options);
      // A backup may have taken the place of the store that replied.
      if (restores !== world.restores) continue;
      world.note(`${pipeline} ${input.nth} is ${id}.`);
      known.set(input.nth, { id, pipeline, input, options, wasDisturbed: false });
      return;
    } catch (fault) {
      if (!isOutage(fault)) throw fault;
      await life.process.timers.pause(100);
    }
  }
}

async function command(
  { world, life, holdfast }: Client,
  { action, nth }: Exclude<Command, { action: 'submit' }>,
  submissions: Submissions,
): Promise<void> {
  const found = submissions.known.get(nth);
  if (found === undefined) return;
  const { id } = found;
  const value = world.operations;
  const commands: Readonly<Record<typeof action, () => Promise<unknown>>> = {
    // Several at once, so that they wait together. The first arrives once. Or one after the
    // other, so that the next one arrives while the execution is about to park.
    signal: async () => {
      const nths = Array.from({ length: 1 + (value % 3) }, () => ++submissions.letters);
      const letters = nths.map((nth) => ({ name: 'letter', value: nth, key: `letter ${nth}` }));
      const all = [...letters, ...letters.slice(0, 1)];
      const { random, timers } = life.process;
      if (random.next() < 0.5) await Promise.all(all.map((each) => holdfast.signal(id, each)));
      else {
        for (const each of all) {
          await holdfast.signal(id, each);
          await timers.pause(between(random, 20, 200));
        }
      }
    },
    answer: () => holdfast.awaits.answer({ execution: id, name: 'approve' }, value),
    'answer all': () => answerPanel(holdfast, { value, limit: 1 + (value % 4) }),
    erase: () => holdfast.erase(id, { reason: 'simulated' }),
    cancel: () => {
      // Even if the reply is lost, the cancel may have happened.
      found.wasDisturbed = true;
      return holdfast.cancel(id);
    },
    pause: () => holdfast.pause(id),
    resume: () => holdfast.resume(id),
    redrive: () => holdfast.repair.redrive(id),
    'cancel child': async () => {
      const { items } = await holdfast.list({
        parent: id,
        status: ['queued', 'waiting'],
        limit: 2,
      });
      found.wasDisturbed ||= items.length > 0;
      for (const child of items) await holdfast.cancel(child.id);
    },
    look: () => look(holdfast, found, value),
  };
  await commands[action]();
}

/** Clients check how their executions ended. */
async function readAll(
  world: World,
  { inside: holdfast }: Actor<Holdfast>,
  submissions: Submissions,
): Promise<void> {
  for (const { id } of submissions.known.values()) {
    world.operations += 1;
    await holdfast?.read(id);
  }
  // A run in which processes were dead for long has had few operations.
  while (world.operations < OPERATIONS_MIN) {
    world.operations += 1;
    await holdfast?.list({ limit: 5 });
  }
}

/** Reads as a person does: an execution, its history, and lists around it. */
async function look(
  holdfast: Holdfast,
  { id, pipeline, options: { key = '' } }: Submitted,
  lot: number,
): Promise<void> {
  const reads = [
    () => holdfast.read(id),
    () => holdfast.history(id, { after: lot % 3, limit: 5 }),
    () => holdfast.list({ pipeline, limit: 3 }),
    () => holdfast.list({ status: ['queued', 'waiting', 'failed'], limit: 7 }),
    () => holdfast.list({ parent: id }),
    () => holdfast.list({ hold: 'paused' }),
    () => holdfast.list({ key }),
    () => holdfast.list({ keyPrefix: 'k-1', status: 'completed' }),
    () => holdfast.count({ status: ['completed', 'running'] }),
    () => holdfast.count({ pipeline }),
  ];
  for (let nth = 0; nth < 3; nth += 1) await reads[(lot + nth) % reads.length]?.();
}

/** After the faults: every paused execution is resumed, every question answered, every letter sent. */
async function answerAll(
  world: World,
  client: Actor<Holdfast>,
  submissions: Submissions,
): Promise<void> {
  const { inside: holdfast } = client;
  if (holdfast === undefined) return;
  const { items } = await holdfast.list({ status: ['queued', 'waiting', 'running'], limit: 1_000 });
  for (const { id, pipeline, holds } of items) {
    if (holds.includes('paused')) await holdfast.resume(id);
    if (pipeline === 'letters') {
      submissions.letters += 1;
      await holdfast.signal(id, { name: 'letter', value: submissions.letters });
    }
    if (pipeline === 'question') {
      await holdfast.awaits.answer({ execution: id, name: 'approve' }, world.operations);
    }
  }
  await answerPanel(holdfast, { value: world.operations, limit: 100 });
}

/** Several at once (W-16), also those that wait for a slot (W-19). */
async function answerPanel(
  holdfast: Holdfast,
  { value, limit }: { readonly value: number; readonly limit: number },
): Promise<void> {
  const open = await holdfast.awaits.list({ open: true, limit });
  const queued = await holdfast.awaits.list({ queued: true, limit });
  const ids = [...open.items, ...queued.items]
    .filter(({ unit }) => unit?.concurrency?.key === PANEL.key)
    .map(({ id }) => id);
  if (ids.length > 0) await holdfast.awaits.answerAll(ids.slice(0, 100), value);
}
