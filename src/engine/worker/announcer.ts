// Announces a worker from its claim loop, so that a hanging loop stops announcing even if its
// heartbeats go on (RE-11). Embedded workers without a release announce seldom, because few callers
// read that.

import type { PipelineName } from '../../execution/names.ts';
import { contractOf } from '../../features/releases/contract-api.ts';
import { contractVersion } from '../../features/releases/contract-model.ts';
import {
  type AnnouncedRelease,
  type Announcement,
  describeReleaseRefusal,
} from '../../features/releases/model.ts';
import type { Announced } from '../../features/releases/port.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Code } from '../../support/codes/catalogue.ts';
import { present, thrownText } from '../../support/options.ts';
import { hasStore, type WorkerConfig } from '../config.ts';
import { reportTrouble } from '../observer.ts';
import type { AnyPipeline } from '../pipeline.ts';
import type { WorkerSettings } from './worker-options.ts';

const NOTHING = 'This worker gets no pinned executions';

/** `watched`: remote workers and workers with a release. `alone`: the others. */
const EVERY_MS = { watched: 5_000, alone: 60_000 } as const;

type AnnouncerSettings = Pick<WorkerSettings, 'pipelines' | 'release' | 'probeMs'>;

export class Announcer {
  readonly #config: WorkerConfig;
  readonly #about: Omit<Announcement, 'session' | 'state' | 'room'>;
  /** The worker has no pipelines of its own, so it does not announce. */
  readonly #isSilent: boolean;
  /** When the worker last announced, and for which session. */
  #announcedAt = Number.NEGATIVE_INFINITY;
  #session: SessionId | undefined;
  #state: Announcement['state'] = 'starting';
  #reportedReason: string | undefined;

  /** `given`: the user's pipelines, without those that the engine adds. */
  constructor(config: WorkerConfig, settings: AnnouncerSettings, given: Iterable<AnyPipeline>) {
    const { release, probeMs } = settings;
    this.#config = config;
    const own = [...given];
    this.#isSilent = own.length === 0;
    const isAlone = release === undefined && hasStore(config);
    this.#about = {
      pipelines: own.map(({ name }) => name),
      ...(release === undefined ? {} : { release: { ...release, ...contractsOf(own) } }),
      inputs: inputsOf(own),
      everyMs: probeMs ?? EVERY_MS[isAlone ? 'alone' : 'watched'],
    };
  }

  /** Claims ask for this release and for executions without a pin. */
  get claimFor(): { readonly release?: string } {
    const { release } = this.#about;
    return release === undefined ? {} : { release: release.name };
  }

  /** The loop makes a round for the announcement even if it polls less often. */
  get dueInMs(): number {
    if (this.#isSilent) return Infinity;
    return Math.max(1, this.#announcedAt + this.#about.everyMs - this.#config.clock.monotonicMs());
  }

  /** Announces before the first claim of a session. */
  async begin(session: SessionId, room: number): Promise<void> {
    if (this.#session === session) return;
    this.#state = 'starting';
    await this.#announce(session, room);
  }

  /** Call this when the store responded to a claim, or when no slot is free. */
  async prove(session: SessionId, room: number): Promise<void> {
    const isDue = this.#config.clock.monotonicMs() - this.#announcedAt >= this.#about.everyMs;
    if (this.#state === 'ready' && !isDue) return;
    if (this.#state === 'starting') this.#state = 'ready';
    await this.#announce(session, room);
  }

  /** Announces that the worker takes no more executions. */
  async drain(session: SessionId): Promise<void> {
    this.#state = 'draining';
    await this.#announce(session, 0);
  }

  async #announce(session: SessionId, room: number): Promise<void> {
    if (this.#isSilent) return;
    this.#session = session;
    this.#announcedAt = this.#config.clock.monotonicMs();
    try {
      const { inputs, ...about } = this.#about;
      const first = this.#state === 'starting' ? present({ inputs }) : {};
      const announcement = { ...about, ...first, session, state: this.#state, room };
      this.#onReply(await this.#config.store.executions.announce(announcement));
    } catch (fault) {
      this.#reportOnce({ code: 'not-announced' }, fault);
    }
  }

  #onReply(result: Announced): void {
    const why = whyOf(result);
    if (why === undefined) {
      this.#reportedReason = undefined;
      return;
    }
    // An operator must see this even without an observer.
    const code = 'worker-refused';
    if (why !== this.#reportedReason) {
      process.emitWarning(`${NOTHING}: ${why} [${code}]`, 'HoldfastWarning');
    }
    this.#reportOnce({ code, what: NOTHING }, new Error(why));
  }

  /**
   * Reports each reason once rather than once a period, because a coordinator of an older build
   * refuses every announcement.
   */
  #reportOnce(trouble: { readonly code: Code; readonly what?: string }, fault: unknown): void {
    const reason = thrownText(fault);
    if (reason !== this.#reportedReason) reportTrouble(this.#config.observer, trouble, fault);
    this.#reportedReason = reason;
  }
}

function whyOf(result: Announced): string | undefined {
  if (result.kind === 'announced' || result.why === 'session-not-live') return undefined;
  return describeReleaseRefusal(result);
}

/** Longer ones together are left out. They serve forms, and a form has JSON instead. */
const INPUTS_CHARS_MAX = 65_536;

/** The JSON Schemas of the inputs. They do not change, so only the first announcement has them. */
function inputsOf(pipelines: readonly AnyPipeline[]): NonNullable<Announcement['inputs']> {
  const found = pipelines.flatMap((each): [PipelineName, unknown][] => {
    const { input } = contractOf(each);
    return input === true || 'opaque' in input ? [] : [[each.name, input]];
  });
  const inputs = Object.fromEntries(found);
  return JSON.stringify(inputs).length > INPUTS_CHARS_MAX ? {} : inputs;
}

export function contractsOf(
  pipelines: readonly AnyPipeline[],
): Pick<AnnouncedRelease, 'contracts'> {
  const versions = pipelines.map((each): [PipelineName, string] => [
    each.name,
    contractVersion(contractOf(each)),
  ]);
  return { contracts: Object.fromEntries(versions) };
}
