// The means of a conformance case: it submits executions, plays another worker, and waits for the
// messages of the worker under test.

import type { HoldfastClient } from '../../src/client/client.ts';
import type { ResultMessage } from '../../src/protocol/messages/execution.ts';
import { systemRandom } from '../../src/support/random.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { type Exchange, type FaultProxy, held, writesIn } from './fault-proxy.ts';

/** The worker breaks the rule of the case. The message describes its behaviour. */
export class Nonconforming extends Error {
  override readonly name = 'Nonconforming';
}

/** One event of a history, as workers read it. */
export interface StageEvent {
  readonly kind: string;
  readonly name?: string;
  readonly fence?: number;
  readonly body: Readonly<Record<string, unknown>> & { readonly key?: string };
}

/** A claim of the worker that the runner plays. */
export interface OtherClaim {
  readonly id: string;
  readonly session: string;
  readonly fence: number;
  readonly seq: number;
}

/** The session of the worker under test. */
export interface WorkerSession {
  readonly id: string;
  readonly owner: string;
  readonly ttlMs: number;
  readonly authorityMs: number;
}

interface StageParts {
  readonly proxy: FaultProxy;
  readonly client: HoldfastClient;
  /** Asks the worker for an orderly stop. */
  readonly stopWorker: () => Promise<void>;
}

const LIMIT_MS = 15_000;
const OWNER = 'holdfast-conform';
const ENDED = ['completed', 'failed', 'cancelled', 'compensated', 'quarantined'];

export class Stage {
  readonly proxy: FaultProxy;
  readonly client: HoldfastClient;
  readonly stopWorker: () => Promise<void>;
  readonly submitted: string[] = [];
  readonly #start: number;

  constructor({ proxy, client, stopWorker }: StageParts) {
    this.proxy = proxy;
    this.client = client;
    this.stopWorker = stopWorker;
    this.#start = proxy.exchanges.length;
  }

  /** The worker's messages since the case began. */
  get exchanges(): readonly Exchange[] {
    return this.proxy.exchanges.slice(this.#start);
  }

  /** The newest session of the worker. */
  get session(): WorkerSession {
    const { exchanges } = this.proxy;
    const usedBy = (kind: string): ReadonlySet<unknown> =>
      new Set(exchanges.filter((each) => each.kind === kind).map(({ body }) => body['session']));
    const claiming = usedBy('claimExecutions');
    const holding = usedBy('acquireLease');
    const opened = exchanges.findLast(
      ({ kind, body, reply }) =>
        kind === 'openSession' &&
        kindIn(reply?.json) === 'opened' &&
        // Another session of the worker may hold its leases.
        (claiming.has(body['id']) || !holding.has(body['id'])),
    );
    if (opened === undefined) throw new Nonconforming('The worker opened no session.');
    const { id, owner } = opened.body as Record<'id' | 'owner', string>;
    return { ...(opened.reply?.json as WorkerSession), id, owner };
  }

  /** Ends the worker's session without telling the worker, as if its time had passed. */
  async endSession(): Promise<void> {
    const { id, owner } = this.session;
    await this.proxy.sendAsWorker(`/v1/work/sessions/${id}/end`, { owner, exit: 'finished' });
  }

  get limitMs(): number {
    return Math.max(LIMIT_MS, 2 * this.session.ttlMs);
  }

  async submit(
    pipeline: string,
    input: unknown,
    options: { readonly attributes?: Readonly<Record<string, string>> } = {},
  ): Promise<string> {
    const { id } = await this.client.executions.submit({ pipeline, input, ...options });
    this.submitted.push(id);
    return id;
  }

  /** Waits until `find` returns something. Throws if it does not, with `otherwise` as the reason. */
  async until<Found>(
    otherwise: string,
    find: () => Found | undefined | Promise<Found | undefined>,
  ): Promise<Found> {
    const found = await this.proxy.until(find, this.limitMs);
    if (found !== undefined) return found;
    const refused = describeRefusals(this.exchanges);
    throw new Nonconforming(
      `Within ${this.limitMs / 1_000} s, ${otherwise}.${refused === '' ? '' : ` ${refused}`}`,
    );
  }

  /** Waits for the end of an execution. */
  async ended(id: string): Promise<ResultMessage> {
    let last = '';
    await this.until('the execution did not end', async () => {
      last = (await this.client.executions.read(id)).status;
      return ENDED.includes(last) ? last : undefined;
    }).catch(async (cause: Nonconforming) => {
      const kinds = (await this.history(id)).map(({ kind }) => kind);
      throw new Nonconforming(`${cause.message} It is ${last}; its history: ${kinds.join(', ')}.`);
    });
    return this.client.executions.result(id);
  }

  /** Waits for an execution, and compares its output with the expected one. */
  async completes(id: string, output: unknown): Promise<void> {
    requireSame('The output', await this.output(id), output);
  }

  /** Waits for the end, and returns the output of an execution that must complete. */
  async output(id: string): Promise<unknown> {
    const { status, output, failure } = await this.ended(id);
    if (status === 'completed') return output;
    throw new Nonconforming(`The execution ended as ${status}: ${JSON.stringify(failure)}.`);
  }

  /** Holds a lease under a session of the runner. Returns the function that releases it. */
  async holdElsewhere(key: string): Promise<() => Promise<unknown>> {
    const session = systemRandom.uuid();
    const opening = { id: session, owner: OWNER, ttlMs: 60_000, graceMs: 1_000 };
    await this.#send('/v1/work/sessions', opening);
    const asked = { key, session, attempt: systemRandom.uuid() };
    const granted = (await this.#send('/v1/work/leases/acquire', asked)) as { fence?: number };
    const tenure = { key, session, fence: granted.fence };
    return () => this.#send('/v1/work/leases/release', { ...tenure, exit: 'yielded' });
  }

  async history(id: string): Promise<readonly StageEvent[]> {
    const { items } = await this.client.call<{
      readonly items: readonly (Omit<StageEvent, 'body'> & { readonly body?: string })[];
    }>(`/v1/work/executions/${id}/history`);
    return items.map((each) => ({ ...each, body: JSON.parse(each.body ?? '{}') }));
  }

  /** Waits for an event of this kind. */
  event(id: string, kind: string): Promise<StageEvent> {
    return this.until(`the history had no ${kind} event`, async () =>
      (await this.history(id)).find((each) => each.kind === kind),
    );
  }

  /** Waits until the worker has claimed the execution, and returns the fence. */
  claimed(id: string): Promise<number> {
    return this.until('the worker did not claim the execution', () =>
      this.exchanges
        .flatMap((each) => (each.kind === 'claimExecutions' ? claimsIn(each.reply?.json) : []))
        .find(({ execution }) => execution.id === id),
    ).then(({ fence }) => fence);
  }

  /** The worker's messages with a write to this execution, in order. */
  writesTo(id: string): readonly Exchange[] {
    return this.exchanges.filter((each) => writesIn(each).some((write) => write.id === id));
  }

  /** Holds the worker's claims back while `action` runs. */
  async withoutClaims<Result>(action: () => Promise<Result>): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const isClaim = ({ kind }: { readonly kind: string }): boolean => kind === 'claimExecutions';
    const remove = this.proxy.plan(isClaim, held(promise), Number.POSITIVE_INFINITY);
    try {
      await this.until('a claim got no reply', () => {
        const open = this.exchanges.find(
          (each) => isClaim(each) && each.reply === undefined && each.isFaulted !== true,
        );
        return open === undefined ? true : undefined;
      });
      return await action();
    } finally {
      remove();
      resolve();
    }
  }

  /** Claims the execution for another worker, which the runner plays. */
  async claimElsewhere(id: string, pipeline: string): Promise<OtherClaim> {
    const session = systemRandom.uuid();
    const opening = { id: session, owner: OWNER, ttlMs: 60_000, graceMs: 1_000 };
    await this.#send('/v1/work/sessions', opening);
    const shares = ['interactive', 'batch'].map((lane) => ({ lane, limit: 1 }));
    for (let tries = 0; tries < 50; tries += 1) {
      const reply = await this.#send('/v1/work/claims', { session, pipelines: [pipeline], shares });
      const found = claimsIn(reply).find(({ execution }) => execution.id === id);
      if (found !== undefined) {
        return { id, session, fence: found.fence, seq: found.execution.seq + 1 };
      }
      await systemTimers.pause(100);
    }
    throw new Nonconforming(
      `The runner could not claim the execution ${id} of "${pipeline}", although it held the claims of this worker back. Stop other workers of this pipeline.`,
    );
  }

  async writeElsewhere(verb: string, claim: OtherClaim, write: object): Promise<void> {
    const reply = (await this.#send('/v1/work/writes', {
      writes: [{ verb, ...claim, ...write }],
    })) as { readonly results: readonly { readonly kind: string }[] };
    const [result] = reply.results;
    if (result?.kind === 'refused' || result?.kind === 'fault') {
      throw new Error(`The runner's own write failed: ${JSON.stringify(result)}`);
    }
  }

  async leaveElsewhere({ session }: OtherClaim): Promise<void> {
    await this.#send(`/v1/work/sessions/${session}/end`, { owner: OWNER, exit: 'finished' });
  }

  /**
   * Submits an execution that another worker began, recorded these events for, and then lost. The
   * worker under test continues it.
   */
  submitBegun(
    pipeline: string,
    input: unknown,
    events: readonly { readonly kind: string; readonly name: string; readonly body: object }[],
  ): Promise<string> {
    return this.withoutClaims(async () => {
      const id = await this.submit(pipeline, input);
      const claim = await this.claimElsewhere(id, pipeline);
      await this.writeElsewhere('record', claim, {
        events: events.map((each) => ({ ...each, body: JSON.stringify(each.body) })),
      });
      await this.leaveElsewhere(claim);
      return id;
    });
  }

  /** Cancels what a failed case left behind. */
  async clean(): Promise<void> {
    for (const id of this.submitted) {
      await this.client.executions.cancel(id, 'end of a conformance case').catch(() => undefined);
    }
  }

  #send(path: string, body: object): Promise<unknown> {
    return this.client.call(path, { method: 'POST', body });
  }
}

interface ClaimInReply {
  readonly execution: { readonly id: string; readonly seq: number };
  readonly fence: number;
}

export function claimsIn(json: unknown): readonly ClaimInReply[] {
  return (json as { readonly claims?: readonly ClaimInReply[] } | undefined)?.claims ?? [];
}

export function kindIn(json: unknown): string | undefined {
  return (json as { readonly kind?: string } | undefined)?.kind;
}

export function requireThat(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Nonconforming(otherwise);
}

/** Compares JSON values; objects with the same fields in another order are the same. */
export function requireSame(what: string, found: unknown, expected: unknown): void {
  if (sorted(found) === sorted(expected)) return;
  throw new Nonconforming(`${what} is ${cutText(found)} instead of ${cutText(expected)}.`);
}

function sorted(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

const SHOWN_MAX = 200;

function cutText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}…`;
}

/** Messages that the coordinator, not a fault, refused with a problem. */
export function refusedIn(exchanges: readonly Exchange[]): readonly Exchange[] {
  return exchanges.filter(
    ({ isFaulted, reply }) => isFaulted !== true && (reply?.status ?? 200) >= 400,
  );
}

/** Describes the first refused message, or the first write with a bug; '' if there is none. */
export function describeRefusals(exchanges: readonly Exchange[]): string {
  const [first, ...more] = refusedIn(exchanges);
  if (first === undefined) return '';
  const { method, path, reply } = first;
  const { code = '', detail = '' } = (reply?.json ?? {}) as Record<string, string>;
  const others = more.length === 0 ? '' : ` So were ${more.length} more.`;
  return `${method} ${path} was refused with ${reply?.status} ${code}: ${detail}${others}`;
}
