// The requests to walk. For HTTP, this process has both the worker and the coordinator, so that a walk
// passes the files of both.

import type { Payload, PipelineName } from '../../src/execution/names.ts';
import { openHoldfast, openSession, pipeline } from '../../src/index.ts';
import { openUnder } from '../../src/lease/live-session.ts';
import { openServer } from '../../src/server/serve.ts';
import type {
  ClaimResult,
  CoordinatorStore,
  WorkerStore,
} from '../../src/store/contract/execution-store.ts';
import { type Clock, systemClock } from '../../src/support/clock.ts';
import { systemTimers, type Timers } from '../../src/support/timer.ts';
import { greet } from '../../src/worker/greet.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { remoteStore } from '../../src/worker/remote-store.ts';
import type { Prepare } from './trace.ts';

/** So long that no heartbeat runs during a request. */
const TTL_MS = 600_000;
const startMs = systemClock.wallMs();
/** Time does not pass, so polling and caches behave the same in every walk. */
export const CLOCK: Clock = { wallMs: () => startMs, monotonicMs: () => 0 };
/** The coordinator does nothing by itself during a request, however long a busy machine takes. */
const TIMERS: Timers = { ...systemTimers, after: () => () => undefined };
const ORDER = 'order' as PipelineName;

export interface Walked {
  readonly name: string;
  /** The call of a user or a worker. */
  readonly call: string;
  /** Returns a function that prepares the request, and one that closes everything that it needs. */
  open(store: CoordinatorStore): Promise<{ readonly prepare: Prepare; close(): Promise<void> }>;
}

export const WALKED: readonly Walked[] = [
  {
    name: 'checkpoint',
    call: 'lease.checkpoint(bytes)',
    async open(store) {
      const session = await openSession({ store, owner: 'walk', ttlMs: TTL_MS });
      const outcome = await session.acquire('report');
      if (outcome.kind !== 'acquired')
        throw new Error(`The lease was not acquired: ${outcome.kind}.`);
      const { lease } = outcome;
      return {
        prepare: async () => () => lease.checkpoint(Buffer.from('page 7')),
        close: async () => void (await session.close()),
      };
    },
  },
  {
    name: 'submit',
    call: 'holdfast.submit(order, input, { key })',
    async open(store) {
      const holdfast = await openHoldfast({ store });
      const order = pipeline({ name: ORDER, run: async () => undefined });
      let orders = 0;
      return {
        prepare: async () => {
          orders += 1;
          return () => holdfast.submit(order, { item: 'tea' }, { key: `order-${orders}` });
        },
        close: () => holdfast.close(),
      };
    },
  },
  {
    name: 'step',
    call: "ctx.step('charge', fn)",
    async open(store) {
      const holdfast = await openHoldfast({ store });
      const running = Promise.withResolvers<() => Promise<number>>();
      const closed = Promise.withResolvers<void>();
      const order = pipeline({
        name: ORDER,
        run: (ctx) => {
          running.resolve(() => ctx.step('charge', () => 7));
          return closed.promise;
        },
      });
      const worker = await holdfast.worker({ pipelines: [order], ttlMs: TTL_MS, pollMs: TTL_MS });
      await holdfast.submit(order, undefined);
      const charge = await running.promise;
      return {
        prepare: async () => charge,
        async close() {
          closed.resolve();
          await worker.stop();
          await holdfast.close();
        },
      };
    },
  },
  {
    name: 'http-claim',
    call: 'executions.claim(request), of a worker over HTTP',
    async open(store) {
      const remote = await openRemote(store);
      return {
        ...remote,
        async prepare() {
          await remote.submit();
          return () => remote.claim();
        },
      };
    },
  },
  {
    name: 'http-record',
    call: 'executions.record(write), of a worker over HTTP',
    async open(store) {
      const remote = await openRemote(store);
      await remote.submit();
      const result = await remote.claim();
      const [claimed] = result.kind === 'claimed' ? result.claims : [];
      if (claimed === undefined) throw new Error('Nothing was claimed.');
      const { execution, fence } = claimed;
      let { seq } = execution;
      return {
        ...remote,
        prepare: async () => () => {
          seq += 1;
          const event = {
            kind: 'step-completed',
            name: 'charge',
            body: '{"key":"step:charge#1"}' as Payload,
          } as const;
          const owner = { id: execution.id, fence, session: remote.session };
          return remote.worker.executions.record({ ...owner, seq, events: [event] });
        },
      };
    },
  },
];

async function openRemote(store: CoordinatorStore): Promise<{
  readonly worker: WorkerStore;
  readonly session: Parameters<WorkerStore['sessions']['open']>[0]['id'];
  submit(): Promise<unknown>;
  claim(): Promise<ClaimResult>;
  close(): Promise<void>;
}> {
  const holdfast = await openHoldfast({ store });
  const server = await openServer({
    store,
    port: 0,
    maintenance: false,
    console: false,
    clock: CLOCK,
    timers: TIMERS,
  });
  const key = server.firstKey ?? '';
  const transport = httpTransport({
    url: server.url,
    key,
    project: 'default',
    timers: systemTimers,
  });
  const hello = await greet(transport, { timers: systemTimers, observer: undefined, connectMs: 0 });
  const worker = remoteStore({
    transport,
    hello,
    clock: systemClock,
    timers: systemTimers,
    pipelines: [ORDER],
  });
  const session = await openUnder({}, { store: worker, owner: 'walk', ttlMs: TTL_MS });
  const { id } = session;
  return {
    worker,
    session: id,
    submit: () => holdfast.submit(ORDER, { item: 'tea' }),
    claim() {
      const shares = [{ lane: 'interactive', limit: 1 } as const];
      return worker.executions.claim({ session: id, pipelines: [ORDER], shares });
    },
    async close() {
      await session.close();
      await worker.close();
      await server.close();
      await holdfast.close();
    },
  };
}
