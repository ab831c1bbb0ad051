// A worker that is written from the protocol page, with sequential steps only. Each flaw breaks one
// rule, so that the conformance runner has something to find.

import { setTimeout as pause } from 'node:timers/promises';

export type Flaw =
  | 'acts-on-a-stale-fence'
  | 'ignores-retry-after'
  | 'runs-recorded-steps-again'
  | 'forgets-heartbeats'
  | 'gives-up-when-cut-off'
  | 'sends-unknown-fields'
  | 'ignores-drain'
  | 'waits-in-claims';

interface Place {
  readonly url: string;
  readonly key: string;
  readonly ttlMs: number;
}

interface Claim {
  readonly execution: {
    readonly id: string;
    readonly lineage: string;
    readonly seq: number;
    readonly input: string;
    readonly pipeline: string;
  };
  readonly fence: number;
}

type Code = (run: SmallRun, input: { readonly n: number; readonly ms: number }) => Promise<unknown>;

const CODE: Readonly<Record<string, Code>> = {
  'conform-echo': async (_run, input) => input,
  async 'conform-steps'(run, input) {
    const one = (await run.step('one', async () => input.n + 1)) as number;
    const two = (await run.step('two', async (key) => ({ value: one * 2, key }))) as {
      readonly value: number;
      readonly key: string;
    };
    return { one, two: two.value, key: two.key };
  },
  async 'conform-slow'(run, input) {
    await run.step('work', () => pause(input.ms, null, { signal: run.worker.stopping.signal }));
    return run.step('after', async () => 'done');
  },
};

const PIPELINES = Object.keys(CODE);
const SHARES = [{ lane: 'interactive', limit: 1 }];

/** Another worker has the execution, or will have it. */
class Dropped extends Error {}

export class SmallWorker {
  readonly stopping: AbortController = new AbortController();
  readonly flaw: Flaw | undefined;
  readonly #place: Place;
  readonly #ended: Promise<void>;
  readonly #lost = new Set<string>();
  session = '';

  constructor(place: Place, flaw?: Flaw) {
    this.#place = place;
    this.flaw = flaw;
    this.#ended = this.#work();
  }

  /** A heartbeat of the session was refused. */
  isLost(session: string): boolean {
    return this.#lost.has(session);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.#ended;
  }

  async send(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    for (;;) {
      const response = await fetch(`${this.#place.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.#place.key}`,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      }).catch(() => undefined);
      if (response === undefined) {
        if (this.flaw === 'gives-up-when-cut-off') this.stopping.abort();
        await pause(500);
        continue;
      }
      const json = (await response.json()) as Record<string, unknown>;
      if (response.status < 429) return json;
      const seconds = Number(response.headers.get('retry-after') ?? 0.5);
      await pause(this.flaw === 'ignores-retry-after' ? 10 : seconds * 1_000);
    }
  }

  async #work(): Promise<void> {
    await this.send('GET', '/v1/work');
    while (!this.stopping.signal.aborted) {
      this.session = crypto.randomUUID();
      await this.#oneSession().catch((error: unknown) => {
        if (!(error instanceof Dropped)) throw error;
      });
    }
  }

  async #oneSession(): Promise<void> {
    const { ttlMs } = this.#place;
    const about = { id: this.session, owner: 'small', ttlMs, graceMs: ttlMs / 3 };
    await this.send('POST', '/v1/work/sessions', { ...about, pipelines: PIPELINES });
    const over = new AbortController();
    const beating = this.#beat(over);
    await this.#announce('ready');
    try {
      while (!over.signal.aborted && !this.stopping.signal.aborted) await this.#claimOnce();
    } finally {
      const isLost = over.signal.aborted;
      over.abort();
      await beating;
      if (!isLost && this.stopping.signal.aborted) await this.#leave();
    }
  }

  async #leave(): Promise<void> {
    if (this.flaw !== 'ignores-drain') await this.#announce('draining');
    const end = { owner: 'small', exit: 'finished' };
    await this.send('POST', `/v1/work/sessions/${this.session}/end`, end);
  }

  async #beat(over: AbortController): Promise<void> {
    const { ttlMs } = this.#place;
    const { session } = this;
    const path = `/v1/work/sessions/${session}/heartbeat`;
    const everyMs = this.flaw === 'forgets-heartbeats' ? 0.9 * ttlMs : ttlMs / 3;
    while (!over.signal.aborted) {
      await pause(everyMs, undefined, { signal: over.signal }).catch(() => undefined);
      if (over.signal.aborted) return;
      const { kind } = await this.send('POST', path, { owner: 'small' });
      if (kind !== 'alive') {
        this.#lost.add(session);
        over.abort();
      }
      if (kind === 'alive') await this.#announce('ready');
    }
  }

  async #announce(state: string): Promise<void> {
    const about = { session: this.session, pipelines: PIPELINES, state, room: 1 };
    const more = this.flaw === 'sends-unknown-fields' ? { host: 'here' } : {};
    const everyMs = this.#place.ttlMs / 3;
    await this.send('POST', '/v1/work/announcements', { ...about, everyMs, ...more });
  }

  async #claimOnce(): Promise<void> {
    const waits = this.flaw === 'waits-in-claims' && { waitMs: 300 };
    const body = { session: this.session, pipelines: PIPELINES, shares: SHARES, ...waits };
    const { kind, claims } = await this.send('POST', '/v1/work/claims', body);
    if (kind === 'refused') throw new Dropped();
    const [claim] = claims as readonly Claim[];
    if (claim === undefined) await this.send('GET', '/v1/work/wakeup?waitMs=300');
    else await new SmallRun(this, claim).run();
  }
}

class SmallRun {
  readonly worker: SmallWorker;
  readonly #claim: Claim;
  readonly #session: string;
  readonly #recorded = new Map<string, unknown>();
  readonly #calls = new Map<string, number>();
  #seq: number;

  constructor(worker: SmallWorker, claim: Claim) {
    this.worker = worker;
    this.#claim = claim;
    this.#session = worker.session;
    this.#seq = claim.execution.seq + 1;
  }

  async run(): Promise<void> {
    const { id, input, pipeline } = this.#claim.execution;
    try {
      if (this.worker.flaw !== 'runs-recorded-steps-again') await this.#readHistory();
      const out = { v: await CODE[pipeline]?.(this, JSON.parse(input).v) };
      const end = {
        status: 'completed',
        outcome: JSON.stringify({ id, status: 'completed', out }),
      };
      await this.#write('finish', { kind: 'completed', body: { out } }, end);
    } catch (error) {
      if (error instanceof Dropped) return;
      if (!this.worker.stopping.signal.aborted) throw error;
      if (this.worker.flaw === 'ignores-drain') return;
      const event = { kind: 'given-back', body: { why: 'stopping' } };
      await this.#write('giveBack', event).catch(() => undefined);
    }
  }

  async step(name: string, work: (key: string) => Promise<unknown>): Promise<unknown> {
    const count = (this.#calls.get(name) ?? 0) + 1;
    this.#calls.set(name, count);
    const key = `step:${name}#${count}`;
    if (this.#recorded.has(key)) return this.#recorded.get(key);
    const v = await work(`${this.#claim.execution.lineage}/0/${key}`);
    const body = { key, out: { v }, attempt: 1 };
    await this.#write('record', { kind: 'step-completed', name, body });
    return v;
  }

  async #readHistory(): Promise<void> {
    const path = `/v1/work/executions/${this.#claim.execution.id}/history`;
    const { items } = await this.worker.send('GET', path);
    for (const event of items as readonly { readonly kind: string; readonly body?: string }[]) {
      if (event.kind !== 'step-completed') continue;
      const { key, out } = JSON.parse(event.body ?? '{}');
      this.#recorded.set(key, out.v);
    }
  }

  async #write(
    verb: string,
    { kind, name, body }: { readonly kind: string; readonly name?: string; readonly body: object },
    more: object = {},
  ): Promise<void> {
    const isCareless = this.worker.flaw === 'acts-on-a-stale-fence';
    if (this.worker.isLost(this.#session) && !isCareless) throw new Dropped();
    const { execution, fence } = this.#claim;
    const events = [{ kind, ...(name && { name }), body: JSON.stringify(body) }];
    const owner = { verb, id: execution.id, fence, session: this.#session, seq: this.#seq };
    const writes = [{ ...owner, events, ...more }];
    const { results } = await this.worker.send('POST', '/v1/work/writes', { writes });
    const [result] = results as readonly { readonly kind: string }[];
    this.#seq += 1;
    if (result?.kind === 'refused' && !isCareless) throw new Dropped();
  }
}
