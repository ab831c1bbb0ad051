// One killer among a hundred executions, hosts that die for other reasons, and an endpoint that
// comes and goes. The test plays processes in steps of the store's clock, by the rules of workers
// and coordinators (X-7, M-16, P4).

import assert from 'node:assert/strict';
import type { ExecutionCase, ExecutionHarness } from '../../../contract/execution/contract-case.ts';
import {
  claiming,
  claimOnce,
  endSessionOf,
  heldOf,
  mustFinish,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  writing,
} from '../../../contract/execution/worker.ts';
import { expectKind } from '../../../contract/lease/expect.ts';
import { type OpenedSession, openedSession } from '../../../contract/lease/opened-session.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { failedCallsIn, givenBack } from '../../../src/protocol/push/call-endpoint.ts';
import type { Claimed } from '../../../src/store/contract/execution-store.ts';

const TICK_MS = 250;
const TTL_MS = 3_000;
const BEAT_MS = TTL_MS / 3;
/** P4. */
const TAKEOVER_MS_MAX = TTL_MS + 2_000;
const CALLED = 20;
const STEPS = 79;
const STEP_MS = 500;
const CAPACITY = 4;
/** The endpoint fails every other second. */
const FLAP_MS = 1_000;
/** The default of `openHoldfast`. */
const MAX_CLAIMS_WITHOUT_PROGRESS = 5;
const KILLER_DEATHS_MAX = 10;
/** When hosts die for other reasons, in turn. */
const HOST_DEATHS_MS = [2, 5, 9, 14, 20, 27, 35, 38, 42, 47].map((s) => s * 1_000);
const TICKS_MAX = 2_000;

interface Job {
  readonly claimed: Claimed;
  readonly who: OpenedSession;
  readonly sinceMs: number;
}

/** A machine on which a dead process starts again. */
interface Host {
  readonly name: string;
  process: OpenedSession | undefined;
  bornMs: number;
  beatMs: number;
  jobs: readonly Job[];
}

class Play {
  readonly #harness: ExecutionHarness;
  readonly #hosts: readonly Host[];
  readonly #diedAt: Map<string, number> = new Map();
  readonly #ids: ExecutionId[] = [];
  #calls: readonly Job[] = [];
  #killer: ExecutionId | undefined;
  #names = 0;
  #ended = 0;
  #ms = 0;
  killed = 0;

  constructor(harness: ExecutionHarness, hosts: number) {
    this.#harness = harness;
    this.#hosts = Array.from({ length: hosts }, (_, nth) => ({
      ...{ name: `host ${nth}`, process: undefined, bornMs: 0, beatMs: 0, jobs: [] },
    }));
  }

  async run(): Promise<void> {
    const { store, advance } = this.#harness;
    for (let nth = 0; nth < STEPS; nth += 1) this.#ids.push(await mustSubmit(store));
    this.#killer = await mustSubmit(store);
    const pipeline = OTHER_PIPELINE;
    for (let nth = 0; nth < CALLED; nth += 1) this.#ids.push(await mustSubmit(store, { pipeline }));
    const deaths = [...HOST_DEATHS_MS];
    for (let tick = 0; deaths.length > 0 || this.#ended <= this.#ids.length; tick += 1) {
      assert.ok(tick < TICKS_MAX, `only ${this.#ended} have ended`);
      if (this.#ms >= (deaths[0] ?? Infinity)) {
        deaths.shift();
        this.#die(this.#hosts[deaths.length % this.#hosts.length]);
      }
      for (const host of this.#hosts) await this.#live(host);
      await this.#call();
      await store.sessions.sweep({ limit: 100 });
      await advance(TICK_MS);
      this.#ms += TICK_MS;
    }
    await this.#check();
  }

  #die(host: Host | undefined): void {
    if (host?.process === undefined) return;
    const { now } = this.#harness;
    this.#diedAt.set(host.process.id, now());
    host.process = undefined;
    host.jobs = [];
    if (host !== this.#hosts[0]) return;
    // The coordinator runs on the first host, and each of its calls has its own session.
    for (const { who } of this.#calls) this.#diedAt.set(who.id, now());
    this.#calls = [];
  }

  async #start(name: string): Promise<OpenedSession> {
    this.#names += 1;
    const options = { ttlMs: TTL_MS, graceMs: 0 };
    return openedSession(this.#harness.store, `${name}, life ${this.#names}`, options);
  }

  async #live(host: Host): Promise<void> {
    const { store } = this.#harness;
    if (host.process === undefined) {
      host.process = await this.#start(host.name);
      host.bornMs = this.#ms;
      host.beatMs = this.#ms;
    }
    const who = host.process;
    if (this.#ms - host.beatMs >= BEAT_MS) {
      expectKind(await store.sessions.heartbeat(who), 'alive');
      host.beatMs = this.#ms;
    }
    if (host.jobs.some(({ claimed }) => claimed.execution.id === this.#killer)) {
      this.killed += 1;
      this.#die(host);
      return;
    }
    const isDone = ({ sinceMs }: Job): boolean => this.#ms - sinceMs >= STEP_MS;
    for (const job of host.jobs.filter(isDone)) await this.#finish(job, 'completed');
    host.jobs = host.jobs.filter((job) => !isDone(job));
    const { claims } = await claimOnce(store, claiming(who));
    for (const claimed of claims) {
      const job = { claimed, who, sinceMs: this.#ms };
      const { claimsWithoutProgress } = claimed.execution;
      if (claimsWithoutProgress >= MAX_CLAIMS_WITHOUT_PROGRESS)
        await this.#finish(job, 'quarantined');
      else host.jobs = [...host.jobs, job];
    }
  }

  async #finish({ claimed, who }: Job, status: 'completed' | 'quarantined'): Promise<void> {
    await mustFinish(this.#harness.store, heldOf(claimed, who), { status });
    this.#ended += 1;
  }

  /** Calls under way succeed or fail; then the coordinator makes new ones. */
  async #call(): Promise<void> {
    const { store } = this.#harness;
    const isUp = Math.floor(this.#ms / FLAP_MS) % 2 === 1;
    for (const job of this.#calls) {
      if (isUp) await this.#finish(job, 'completed');
      else await this.#giveBack(job);
      await endSessionOf(store, job.who);
    }
    this.#calls = [];
    const coordinator = this.#hosts[0];
    if (coordinator?.process === undefined) return;
    for (let nth = 0; nth < CAPACITY; nth += 1) {
      const who = await this.#start('call');
      const asked = { pipelines: [OTHER_PIPELINE], livedMs: this.#ms - coordinator.bornMs };
      const { claims } = await claimOnce(store, claiming(who, 1, asked));
      const [claimed] = claims;
      if (claimed === undefined) return endSessionOf(store, who);
      this.#calls = [...this.#calls, { claimed, who, sinceMs: this.#ms }];
    }
  }

  async #giveBack({ claimed, who }: Job): Promise<void> {
    const { executions } = this.#harness.store;
    const { id } = claimed.execution;
    const failed = failedCallsIn(await executions.history({ id, after: 0, limit: 1_000 }));
    const unended = { kind: 'failed', by: 'endpoint', reason: '502' } as const;
    const { body, delayMs } = givenBack(unended, failed);
    const write = writing(heldOf(claimed, who), { kind: 'given-back', body });
    expectKind(await executions.giveBack({ ...write, delayMs }), 'given-back');
  }

  async #check(): Promise<void> {
    const { store } = this.#harness;
    for (const id of this.#ids) {
      assert.equal((await mustRead(store, id)).status, 'completed');
      await this.#checkFirstTakeovers(id);
    }
    assert.ok(this.#killer !== undefined);
    assert.equal((await mustRead(store, this.#killer)).status, 'quarantined');
    await this.#checkFirstTakeovers(this.#killer);
    assert.ok(this.killed <= KILLER_DEATHS_MAX, `${this.killed} processes died of it`);
  }

  /** P4: an execution that was lost for the first time has an owner again in time. */
  async #checkFirstTakeovers(id: ExecutionId): Promise<void> {
    const events = await this.#harness.store.executions.history({ id, after: 0, limit: 1_000 });
    const claims = events.flatMap(({ kind, body, at }) => {
      return kind === 'claimed' ? [{ ...(JSON.parse(body ?? '{}') as ClaimBody), at }] : [];
    });
    for (const [nth, { previous, at }] of claims.entries()) {
      const before = claims[nth - 1];
      if (previous !== 'lost' || before === undefined || before.previous === 'lost') continue;
      const lateMs = at - (this.#diedAt.get(before.session) ?? assert.fail('it had died'));
      assert.ok(lateMs <= TAKEOVER_MS_MAX, `P4: ${id} was taken over after ${lateMs} ms`);
    }
  }
}

interface ClaimBody {
  readonly session: string;
  readonly previous: string;
}

export const SUSPECT_SCENARIOS: readonly ExecutionCase[] = [1, 3].map((hosts) => ({
  upholds: 'X-7, M-16, P4',
  name: `one killer among 99 healthy executions, ten host deaths and a flapping endpoint is quarantined alone, with ${hosts} worker${hosts === 1 ? '' : 's'}`,
  // So few processes that die so often look like an outage (E-8), which is not the subject here.
  policy: { breakerSessionsMin: 1_000_000 },
  run: (harness) => new Play(harness, hosts).run(),
}));
