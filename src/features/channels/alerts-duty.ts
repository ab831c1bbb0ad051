// Evaluates the alerts of channels (CH-14, CH-15). Any number of coordinators do it. A claimed channel
// is hidden from the others, and the round of the claim fences what it records.
//
//   claim channels ──▶ per project: roll up, read figures and workers ──▶ per channel: compare ──▶ record

import type { ProjectName } from '../../execution/names.ts';
import { routeOf } from '../../execution/route.ts';
import type { Clock } from '../../support/clock.ts';
import { toInstant } from '../../support/clock.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { jittered, type Random } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';
import { endedFigures, type Figures, ROLLUP_STEPS } from '../overview/model.ts';
import type { OverviewStore } from '../overview/port.ts';
import type { WorkerInfo } from '../releases/api.ts';
import { announcersOf, takesWork } from '../releases/model.ts';
import { ALERT_WINDOW_MS, type RouteReading, readAlerts } from './alerts-model.ts';
import type { AlertRound, ChannelStore } from './port.ts';

export interface AlertParts {
  readonly store: Pick<ChannelStore, 'claimAlerts' | 'recordAlerts'>;
  readonly figures: Pick<OverviewStore, 'figures' | 'rollUp' | 'endedCounts'>;
  readonly workers: (project: ProjectName) => Promise<readonly WorkerInfo[]>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** The time between two rounds of a channel. */
  readonly everyMs: number;
  readonly onFault?: (code: Code, error: unknown) => void;
}

const SPREAD = 0.1;
const CHANNELS_AT_ONCE = 16;
/** A round that lasts longer than this many times its interval has lost its channel. */
const LEASE_ROUNDS = 3;
const LEASE_MS_MIN = 30_000;
/** More rollups than this are left to the next round. */
const BATCHES_MAX = 20;

export class Alerts {
  readonly #parts: AlertParts;
  #running: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;
  #state: 'idle' | 'waiting' | 'running' | 'over' = 'idle';

  constructor(parts: AlertParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#state === 'idle') this.#roundIn(0);
  }

  /** The limits of a channel have changed. */
  check(): void {
    if (this.#state !== 'waiting') return;
    this.#cancel();
    this.#roundIn(0);
  }

  /** Resolves when no round is under way. */
  stop(): Promise<void> {
    this.#state = 'over';
    this.#cancel();
    return this.#running;
  }

  #roundIn(ms: number): void {
    if (this.#state === 'over') return;
    this.#state = 'waiting';
    this.#cancel = this.#parts.timers.after(ms, () => {
      this.#state = 'running';
      this.#running = this.#round().finally(() =>
        this.#roundIn(jittered(this.#parts.random, this.#parts.everyMs, SPREAD)),
      );
    });
  }

  get #isOver(): boolean {
    return this.#state === 'over';
  }

  /** Never rejects. */
  async #round(): Promise<void> {
    const { store, everyMs, onFault } = this.#parts;
    const leaseMs = Math.max(LEASE_MS_MIN, LEASE_ROUNDS * everyMs);
    try {
      while (!this.#isOver) {
        const claimed = await store.claimAlerts({ limit: CHANNELS_AT_ONCE, leaseMs });
        const byProject = Map.groupBy(claimed, ({ channel }) => channel.project);
        for (const [project, rounds] of byProject) await this.#evaluate(project, rounds);
        if (claimed.length < CHANNELS_AT_ONCE) return;
      }
    } catch (error) {
      onFault?.('alerts-not-checked', error);
    }
  }

  /** A channel that is claimed and not recorded is evaluated again when its lease is over. */
  async #evaluate(project: ProjectName, rounds: readonly AlertRound[]): Promise<void> {
    const { store, figures, workers, everyMs, random } = this.#parts;
    await this.#rollUp();
    const found = await figures.figures({ project });
    const live = (await workers(project)).filter(takesWork);
    for (const { channel, round } of rounds) {
      if (this.#isOver) return;
      const { alerts = {} } = channel;
      const failed =
        alerts.deadLetters === undefined
          ? new Map<string, number>()
          : await this.#failed(project, found, alerts.windowMs ?? ALERT_WINDOW_MS);
      const { over, near } = readAlerts(alerts, readingsOf({ found, live, failed }));
      await store.recordAlerts({
        ...{ channel: { uid: channel.uid }, round, everyMs, near },
        over: over.map((each) => ({ ...each, incident: random.uuid() })),
      });
    }
  }

  async #rollUp(): Promise<void> {
    for (let batches = 0; batches < BATCHES_MAX && !this.#isOver; batches += 1) {
      if (!(await this.#parts.figures.rollUp()).more) return;
    }
  }

  /** Failed executions by route since the start of the window, rounded down to a rollup. */
  async #failed(
    project: ProjectName,
    { at }: Figures,
    windowMs: number,
  ): Promise<ReadonlyMap<string, number>> {
    const stepMs = Math.min(...ROLLUP_STEPS.map(({ ms }) => ms));
    const from = toInstant(Math.floor((at - windowMs) / stepMs) * stepMs);
    const range = { from, to: toInstant(at + stepMs) };
    const { byPipeline } = await this.#parts.figures.endedCounts({
      ...{ ...range, project, stepMs, intervalMs: windowMs },
    });
    const byRoute = Map.groupBy(byPipeline, (each) => routeOf(each));
    return new Map(
      [...byRoute].map(([route, counts]) => {
        const { failed, quarantined } = endedFigures(counts).ended;
        return [route, failed + quarantined];
      }),
    );
  }
}

interface FoundFigures {
  readonly found: Figures;
  readonly live: readonly WorkerInfo[];
  readonly failed: ReadonlyMap<string, number>;
}

function readingsOf({ found, live, failed }: FoundFigures): readonly RouteReading[] {
  const { at, pipelines } = found;
  const now = pipelines.map((each): RouteReading => {
    const { oldestReadyAt } = each;
    const route = routeOf(each);
    return {
      route,
      deadLetters: failed.get(route) ?? 0,
      waitedMs: oldestReadyAt === undefined ? 0 : Math.max(0, at - oldestReadyAt),
      isServed: announcersOf(live, each).length > 0,
    };
  });
  const known = new Set(now.map(({ route }) => route));
  // Retention may have removed all executions of a pipeline that failed within the window.
  const gone = [...failed].filter(([route]) => !known.has(route));
  return [
    ...now,
    ...gone.map(([route, deadLetters]) => ({ route, deadLetters, waitedMs: 0, isServed: true })),
  ];
}
