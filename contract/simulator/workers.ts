// The programs of executions: workers with their own connection to the store, coordinators, and workers
// that reach a coordinator by messages.

import { resolveWorkerConfig } from '../../src/engine/config.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { AnyPipeline } from '../../src/engine/pipeline.ts';
import { LiveWorker } from '../../src/engine/worker/worker.ts';
import type { WorkerOptions } from '../../src/engine/worker/worker-options.ts';
import { type ProjectName, parseProject } from '../../src/execution/names.ts';
import type { ExecutionObserver } from '../../src/execution/report.ts';
import type { Role } from '../../src/features/access/model.ts';
import type { LeaseService } from '../../src/lease/port.ts';
import type { Transport, TransportRequest } from '../../src/protocol/messages/envelope.ts';
import type { Caller, Coordinator } from '../../src/protocol/rest/route.ts';
import { dispatchOf, inProcessTransport } from '../../src/protocol/work/dispatch.ts';
import { buildCoordinator } from '../../src/server/coordinator-of.ts';
import type { ServerLog } from '../../src/server/server-options.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../src/support/fault.ts';
import type { Random } from '../../src/support/random.ts';
import { greet } from '../../src/worker/greet.ts';
import { type Hinted, remoteLeases } from '../../src/worker/remote-leases.ts';
import { remoteStore } from '../../src/worker/remote-store.ts';
import type { Actor, Life } from './actor.ts';
import type { Weather } from './link.ts';
import type { World } from './world.ts';

/** Without an observer, Holdfast would print warnings. */
const SILENT: ExecutionObserver = { report: () => undefined };

/** Processes die here, and so leave work to others for a while. */
const EXPECTED: readonly string[] = ['left-by-the-dead', 'overdue-not-swept', 'slot-not-given'];

/** The reconciler repairs broken invariants, which no operation of the store may cause (Z-1). */
function observerOf({ world }: Life): ExecutionObserver {
  return {
    report(report) {
      if (report.kind !== 'stale' || EXPECTED.includes(report.invariant)) return;
      world.violate('Z-1', `The reconciler found ${JSON.stringify(report)}.`);
    },
  };
}

function logOf(life: Life): ServerLog {
  const { report } = observerOf(life);
  return {
    info: (_, about) => {
      if (about !== undefined && 'invariant' in about) report({ kind: 'stale', ...about } as never);
    },
    fault: () => undefined,
  };
}

/** Pipelines that have releases. */
export const RELEASED: readonly string[] = ['order', 'batch', 'saga'];

/** The intervals of a worker, short so that much happens in little time. */
export interface Pace {
  readonly ttlMs: number;
  readonly pollMs: number;
}

export function holdfastAt(life: Life): Holdfast {
  const { clock, timers, random } = life.process;
  return new Holdfast({
    store: life.link.store,
    clock,
    timers,
    random,
    observer: observerOf(life),
  });
}

/** A worker that has the store itself. */
export async function startEmbedded(life: Life, job: Job): Promise<Holdfast> {
  const holdfast = holdfastAt(life);
  await holdfast.worker(await optionsOf(life, job));
  return holdfast;
}

/** The work of a worker. */
interface Job {
  readonly pipelines: readonly AnyPipeline[];
  readonly pace: Pace;
  /** The number of executions that it runs at once. */
  readonly concurrency: number;
  /** The name of the release that its process runs. */
  readonly release: string | undefined;
}

/** A deployment registers its release before its workers announce it. */
async function optionsOf(life: Life, job: Job): Promise<WorkerOptions> {
  const { pipelines, pace, concurrency, release } = job;
  const options = { pipelines, owner: life.process.name, concurrency, ...pace };
  if (release === undefined) return options;
  const { releases } = holdfastAt(life);
  for (const pipeline of pipelines.filter(({ name }) => RELEASED.includes(name))) {
    await releases.register({ pipeline, name: release, artifact: release, digest: release });
  }
  return { ...options, release: { name: release, digest: release } };
}

/** A coordinator: it handles workers' messages, and does the duties that all of them share. */
export async function startCoordinator(life: Life, pace: Pace): Promise<Coordinator> {
  const { clock, timers, random } = life.process;
  const coordinator = buildCoordinator(
    { store: life.link.store, clock, timers, random, auth: 'off', log: logOf(life) },
    undefined,
  );
  await coordinator.holdfast.maintain({ owner: life.process.name, ...pace });
  return coordinator;
}

/** A worker that reaches a coordinator by messages. */
export async function startRemote(life: Life, transport: Transport, job: Job): Promise<LiveWorker> {
  const { clock, timers, random } = life.process;
  const hello = await greet(transport, { timers, observer: SILENT, connectMs: undefined });
  const names = job.pipelines.map(({ name }) => name);
  const store = remoteStore({ transport, hello, clock, timers, pipelines: names });
  const config = resolveWorkerConfig(
    { store, clock, timers, random, observer: SILENT },
    { ended: () => undefined, awaitDueIn: () => undefined },
  );
  return LiveWorker.open(config, await optionsOf(life, job));
}

/** The leases of a coordinator, as `openCoordinator` opens them. */
export async function startLeaseClient(life: Life): Promise<LeaseService> {
  const { timers } = life.process;
  const caller = callerOf('default');
  const transport = new SimulatedNetwork(life.world, { life, caller }, life.world.coordinators);
  const hello = await greet(transport, { timers, observer: SILENT, connectMs: undefined });
  const hinted = await transport.request<Hinted>({ kind: 'waitForLeaseHint', body: {} });
  return remoteLeases({ transport, hello, hinted, timers });
}

export function callerOf(project: string): Caller {
  const roles = new Set<Role>(['work', 'lease']);
  return {
    key: `key of ${project}`,
    name: project,
    project: parseProject(project) as ProjectName,
    isOfAll: false,
    roles,
  };
}

/** Messages from a worker's process to one of the coordinators, which may be lost, doubled or late. */
export class SimulatedNetwork implements Transport {
  readonly name = 'simulated';
  readonly doubles: boolean;
  readonly #world: World;
  readonly #life: Life;
  readonly #caller: Caller;
  readonly #coordinators: readonly Actor<Coordinator>[];
  readonly #random: Random;
  #nth = 0;

  constructor(
    world: World,
    from: { readonly life: Life; readonly caller: Caller },
    coordinators: readonly Actor<Coordinator>[],
  ) {
    this.#world = world;
    this.doubles = world.doublesMessages;
    this.#life = from.life;
    this.#caller = from.caller;
    this.#coordinators = coordinators;
    this.#random = world.stream(`network of ${from.life.process.name}`);
  }

  request<Result>(message: TransportRequest): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const { process } = this.#life;
      if (process.state === 'dead') return;
      const fail = (fault: Error): void => {
        // After a failure, it tries the next coordinator.
        this.#nth += 1;
        reject(fault);
      };
      const text = `The simulated network lost ${message.kind}.`;
      process.timers.after(message.timeoutMs ?? TIMEOUT_MS, () => fail(new OutcomeUnknown(text)));
      message.signal?.addEventListener('abort', () => reject(message.signal?.reason));
      const { doubled } = this.#weather;
      this.#send<Result>(message, { resolve, reject: fail });
      if (this.doubles && this.#random.next() < doubled) this.#send(message, IGNORED);
    });
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  get #weather(): Weather {
    return this.#life.link.weather;
  }

  #send<Result>(
    message: TransportRequest,
    caller: { resolve: (reply: Result) => void; reject: (fault: Error) => void },
  ): void {
    const { scheduler } = this.#world;
    if (this.#random.next() < this.#weather.lost) return;
    const target = this.#coordinators[this.#nth % this.#coordinators.length];
    const { life, inside: coordinator } = target ?? {};
    const back = (settle: () => void): void => {
      if (this.#random.next() < this.#weather.lost) return;
      scheduler.after(this.#delayMs(), this.#life.process, settle);
    };
    if (life === undefined || coordinator === undefined) {
      const refused = new StoreUnavailable('The coordinator refuses connections.');
      back(() => caller.reject(refused));
      return;
    }
    scheduler.after(this.#delayMs(), life.process, () => {
      this.#deliver<Result>(coordinator, message).then(
        (reply) => {
          if (life.process.state !== 'dead') back(() => caller.resolve(reply));
        },
        (fault: Error) => {
          if (life.process.state !== 'dead') back(() => caller.reject(fault));
        },
      );
    });
  }

  #deliver<Result>(coordinator: Coordinator, message: TransportRequest): Promise<Result> {
    const { signal: _, ...sent } = message;
    const dispatch = dispatchOf({ coordinator, transport: 'in-process' });
    const admit = async (): Promise<Caller> => this.#caller;
    const stopping = new AbortController().signal;
    return inProcessTransport({ coordinator, dispatch, admit, stopping }).request<Result>(sent);
  }

  #delayMs(): number {
    return this.#random.next() * this.#weather.lateMs;
  }
}

const TIMEOUT_MS = 15_000;
const IGNORED = { resolve: (): void => undefined, reject: (): void => undefined };
