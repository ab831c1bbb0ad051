// Runs one program on a store and checks whether the model explains it.

import type { ContractBackend, OpenHarness } from '../../contract/index.ts';
import { ownerOf, sessionIdOf } from '../../contract/lease/opened-session.ts';
import type { LeaseEvent } from '../../src/lease/event.ts';
import { resolvePolicy } from '../../src/lease/policy.ts';
import type { Grant, KernelStore } from '../../src/lease/port.ts';
import { Candidate, type Evidence, TIDY_UP } from './candidate.ts';
import { type Command, perform } from './command.ts';
import { eventsAfter, observe } from './observe.ts';
import { resolve } from './resolve.ts';
import { show } from './show.ts';
import { type Batch, POLICIES, type Program } from './step.ts';
import { Watch, wrongHandover } from './watch.ts';
import { newFence, World } from './world.ts';

/** The largest number of explanations to keep: most of them do not differ. */
const CANDIDATES_MAX = 6;

export async function runProgram(backend: ContractBackend, program: Program): Promise<void> {
  const harness = await backend.open(POLICIES[program.policy]);
  try {
    await new Run(harness, await clientsOf(harness), program).all();
  } finally {
    await harness.close();
  }
}

/** Two clients of the same data; every other command goes to the second. */
async function clientsOf(harness: OpenHarness): Promise<readonly KernelStore[]> {
  return [harness.store, await harness.another()];
}

class Run {
  readonly #harness: OpenHarness;
  readonly #clients: readonly KernelStore[];
  readonly #program: Program;
  readonly #world: World;
  readonly #watch = new Watch();
  readonly #trace: string[] = [];
  #candidates: readonly Candidate[];
  #eventSeq = 0;
  #turn = 0;

  constructor(harness: OpenHarness, clients: readonly KernelStore[], program: Program) {
    const policy = POLICIES[program.policy];
    this.#harness = harness;
    this.#clients = clients;
    this.#program = program;
    this.#world = new World(resolvePolicy(policy), harness.now());
    const { keys } = this.#world;
    this.#candidates = [new Candidate({ policy, startMs: harness.now(), keys })];
  }

  async all(): Promise<void> {
    const crowd = Array.from({ length: this.#program.crowd }, (_, index) => opening(index));
    if (crowd.length > 0) await this.#check(crowd);
    for (const batch of this.#program.batches) await this.#check(this.#resolved(batch));
  }

  #resolved(batch: Batch): readonly Command[] {
    return batch.map((step) => resolve(this.#world, step));
  }

  async #check(commands: readonly Command[]): Promise<void> {
    const before = this.#world.observed;
    const answers = await this.#send(commands);
    if (commands.length > 1) await this.#send([TIDY_UP]);
    const evidence = await this.#look(commands, answers);
    this.#note(evidence);
    this.#fail(this.#watch.events(evidence.events));
    this.#fail(this.#watch.state(evidence.observed, this.#world.now));
    const [command] = commands;
    if (commands.length === 1 && command?.verb === 'acquire' && newFence(answers[0])) {
      const { key, fromCheckpointBefore } = command.request;
      const lease = before.leases.find((each) => each.key === key);
      this.#fail(wrongHandover(answers[0] as Grant, lease, fromCheckpointBefore === true));
    }
    await this.#explain(evidence);
  }

  /** The crowd opens one after the other; a batch goes out at once. */
  #send(commands: readonly Command[]): Promise<readonly unknown[]> {
    return Promise.all(
      commands.map(async (command) => {
        if (command.verb === 'advance') return this.#harness.advance(command.ms);
        this.#turn += 1;
        const client = this.#clients[this.#turn % this.#clients.length];
        return client === undefined ? undefined : perform(client, command);
      }),
    );
  }

  async #look(commands: readonly Command[], answers: readonly unknown[]): Promise<Evidence> {
    const client = this.#clients[this.#turn % this.#clients.length] ?? this.#harness.store;
    const { events, next } = await eventsAfter(client, this.#eventSeq);
    this.#eventSeq = next;
    const world = this.#world;
    world.now = this.#harness.now();
    world.observed = await observe(client, world.keys);
    commands.forEach((command, index) => {
      world.learn(command, answers[index]);
    });
    return { commands, answers, events, observed: world.observed };
  }

  async #explain(evidence: Evidence): Promise<void> {
    const found: Candidate[] = [];
    const problems: string[] = [];
    const orders = isCommutative(evidence) ? [indices(evidence)] : permutations(indices(evidence));
    const isOnlyOne = this.#candidates.length === 1 && orders.length === 1;
    for (const candidate of this.#candidates) {
      for (const order of orders) {
        const attempt = isOnlyOne ? candidate : await candidate.fork();
        const problem = await attempt.explain(evidence, order);
        if (problem === undefined) found.push(attempt);
        else problems.push(`${order.length > 1 ? `in the order ${order}: ` : ''}${problem}`);
      }
    }
    if (found.length === 0) this.#fail(problems.slice(0, 6).join('\n'));
    this.#candidates = spread(found, CANDIDATES_MAX);
  }

  #note({ commands, answers, events }: Evidence): void {
    this.#trace.push(commands.length > 1 ? `at once, ${commands.length}:` : '');
    commands.forEach((command, index) => {
      const asked = command.verb === 'advance' ? command.ms : command.request;
      this.#trace.push(`  ${command.verb} ${show(asked)}\n    → ${show(answers[index])}`);
    });
    if (events.length > 0) this.#trace.push(`    events ${show(events.map(brief))}`);
  }

  #fail(problem: string | undefined): void {
    if (problem === undefined) return;
    const trace = this.#trace.filter((line) => line !== '').join('\n');
    throw new Error(`${problem}\n  what happened:\n${trace}`);
  }
}

/**
 * Takes some from all over the list, each with another order of its own. The order decides which
 * session a place in the queue belongs to, and that shows only later.
 */
function spread<Item>(items: readonly Item[], count: number): readonly Item[] {
  if (items.length <= count) return items;
  const step = items.length / count;
  const taken = Array.from({ length: count }, (_, nth) =>
    Math.floor(nth * step + (nth % Math.floor(step))),
  );
  return items.filter((_, index) => taken.includes(index));
}

function brief(event: LeaseEvent): string {
  return `${event.seq} ${event.kind}${'exit' in event ? ` ${event.exit}` : ''}`;
}

function opening(index: number): Command {
  const id = sessionIdOf(`crowd ${index}`);
  const owner = ownerOf(`crowd ${index}`);
  const request = { id, owner, ttlMs: 2_000, graceMs: 100, metadata: {} };
  return { verb: 'open', request };
}

/** Openings of different sessions do not affect each other. */
function isCommutative({ commands }: Evidence): boolean {
  return commands.length > 3 && commands.every((command) => command.verb === 'open');
}

function indices({ commands }: Evidence): readonly number[] {
  return commands.map((_, index) => index);
}

function permutations(items: readonly number[]): readonly (readonly number[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first) =>
    permutations(items.filter((each) => each !== first)).map((rest) => [first, ...rest]),
  );
}
