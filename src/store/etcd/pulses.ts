// Native leases of etcd. Each session that has not ended has one, and a key bound to it, its pulse.
// If etcd gets no renewal of the session for the granted time, it deletes the key. The leader's
// clock measured that time, so a missing pulse proves that it has passed (ADR 0016).

import type { Clock } from '../../support/clock.ts';
import { OutcomeUnknown } from '../../support/fault.ts';
import type { Timers } from '../../support/timer.ts';
import type { EtcdClient, EtcdStream } from './client.ts';
import {
  LEASE_GRANT,
  LEASE_KEEP_ALIVE,
  type LeaseKeepAliveRequest,
  type LeaseKeepAliveResponse,
} from './messages.ts';

export interface PulsesConfig {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly callTimeoutMs: number;
  readonly leaseSecondsMin: number;
}

/** Renewals on one stream wait for each other. After this long, a new stream takes over. */
const STUCK_MS = 1_000;

interface Waiting {
  readonly id: string;
  readonly sentTick: number;
  answered(isAlive: boolean): void;
  failed(fault: unknown): void;
}

interface Renewals {
  readonly calls: EtcdStream<LeaseKeepAliveRequest>;
  readonly waiting: Waiting[];
}

export class Pulses {
  readonly #client: EtcdClient;
  readonly #config: PulsesConfig;
  #renewals: Renewals | undefined;

  constructor(client: EtcdClient, config: PulsesConfig) {
    this.#client = client;
    this.#config = config;
  }

  /** Grants a lease that lasts at least this long after each renewal. etcd counts whole seconds. */
  async grant(ttlMs: number): Promise<string> {
    const ttl = Math.max(Math.ceil(ttlMs / 1_000), this.#config.leaseSecondsMin);
    return (await this.#client.write(LEASE_GRANT, { ttl })).id;
  }

  /** Returns false if the lease is gone. Without a reply, it may or may not have been renewed. */
  renew(id: string): Promise<boolean> {
    const { clock, timers, callTimeoutMs } = this.#config;
    return new Promise((resolve, reject) => {
      const cancel = timers.after(callTimeoutMs, () => waiting.failed(noReply('in time')));
      const waiting: Waiting = {
        id,
        sentTick: clock.monotonicMs(),
        answered(isAlive) {
          cancel();
          resolve(isAlive);
        },
        failed(fault) {
          cancel();
          reject(fault);
        },
      };
      const oldest = this.#renewals?.waiting[0]?.sentTick ?? waiting.sentTick;
      if (waiting.sentTick - oldest > STUCK_MS) this.#giveUp();
      const renewals = this.#renewals ?? this.#open();
      this.#renewals = renewals;
      renewals.waiting.push(waiting);
      renewals.calls.send({ id });
    });
  }

  #giveUp(): void {
    const renewals = this.#renewals;
    this.#renewals = undefined;
    renewals?.calls.cancel();
  }

  #open(): Renewals {
    const waiting: Waiting[] = [];
    const calls = this.#client.stream(LEASE_KEEP_ALIVE, {
      message: (response) => take(waiting, response),
      ended: () => {
        if (this.#renewals?.waiting === waiting) this.#renewals = undefined;
        for (const each of waiting.splice(0)) each.failed(noReply('before the connection broke'));
      },
    });
    return { calls, waiting };
  }
}

/** Replies come in the order of the requests, each with its lease id. */
function take(waiting: Waiting[], response: LeaseKeepAliveResponse): void {
  const index = waiting.findIndex(({ id }) => id === response.id);
  const [first] = index < 0 ? [] : waiting.splice(index, 1);
  first?.answered(response.ttl > 0);
}

function noReply(how: string): OutcomeUnknown {
  return new OutcomeUnknown(
    `etcd did not respond ${how} to the renewal of a session. It may or may not have been renewed.`,
  );
}
