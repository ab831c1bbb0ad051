// Judges the outbox of channels: each committed event is announced once to each channel, one claim at
// a time has a message, and a delivered message has reached its receiver.

import type {
  ClaimDeliveries,
  ClaimedDeliveries,
  RecordDeliveries,
} from '../../../src/features/channels/port.ts';
import type { StoreCall } from '../link.ts';
import type { Checker, World } from '../world.ts';

/** The messages that arrived at the receiver, by channel and message. */
export class Received {
  readonly #all: Set<string> = new Set();

  add(uid: string, id: string): void {
    this.#all.add(placeOf(uid, id));
  }

  has(uid: string, id: string): boolean {
    return this.#all.has(placeOf(uid, id));
  }
}

function placeOf(uid: string, id: string): string {
  return `${uid} ${id}`;
}

/** A message as its claims and records left it. */
interface Known {
  readonly attempts: number;
  /** No claim may take it before. */
  readonly hiddenUntil: number;
}

export function announcedOnce(world: World, received: Received): Checker {
  let known = new Map<string, Known>();
  let backup = known;
  const judges: Readonly<Record<string, (call: StoreCall, at: number) => void>> = {
    'access.claimDeliveries'({ request, reply }, at) {
      const { uid, leaseMs } = request as ClaimDeliveries;
      const { channel, deliveries = [] } = (reply ?? {}) as Partial<ClaimedDeliveries>;
      if (channel?.paused === true || (channel?.openUntil ?? at) > at) {
        world.violate('CH-6', `Messages of channel ${uid} were claimed while it must rest.`);
      }
      for (const { id, attempts } of deliveries) {
        const place = placeOf(uid, id);
        const before = known.get(place);
        if (before !== undefined && before.hiddenUntil > at) {
          world.violate('CH-3', `Message ${id} was claimed while another claim had it.`);
        }
        if (before !== undefined && before.attempts >= attempts) {
          world.violate('CH-4', `A claim of message ${id} counted no attempt.`);
        }
        known.set(place, { attempts, hiddenUntil: at + leaseMs });
      }
    },
    'access.recordDeliveries'({ request, reply }, at) {
      const { channel, attempts } = request as RecordDeliveries;
      for (const id of reply as readonly string[]) {
        const place = placeOf(channel.uid, id);
        const recorded = attempts.find((each) => each.id === id);
        if (recorded === undefined || recorded.attempts !== known.get(place)?.attempts) {
          world.violate('CH-4', `An older claim of message ${id} was recorded.`);
        }
        // A replay makes a message that is over due at once.
        const waitMs = recorded?.nextInMs ?? 0;
        known.set(place, { attempts: recorded?.attempts ?? 0, hiddenUntil: at + waitMs });
      }
    },
  };
  return {
    name: 'channels',
    handled(call) {
      if (call.at !== undefined) judges[call.verb]?.(call, call.at);
    },
    backedUp() {
      backup = new Map(known);
    },
    restored() {
      known = new Map(backup);
    },
    async ended() {
      // A clock that was set back orders events and channels wrongly.
      if (world.isSteady) for (const each of UNANNOUNCED) reportMissing(world, each);
      for (const { message } of world.disk.rows<{ message: string }>(EARLY)) {
        world.violate('CH-1', `Message ${message} announces what did not happen.`);
      }
      for (const { channel, message } of world.disk.rows<Delivered>(DELIVERED)) {
        if (received.has(channel, message)) continue;
        world.violate('CH-5', `Message ${message} is delivered and never arrived.`);
      }
    },
  };
}

interface Delivered {
  readonly channel: string;
  readonly message: string;
}

const UNANNOUNCED = [
  `select c.id as channel, 'execution-ended_' || e.id as message
     from channel as c
     join execution as e on e.project = c.project and e.ended_at > c.created_at
    where substr(e.pipeline, 1, 9) <> 'holdfast.'
      and not exists (select 1 from delivery as d
                       where d.channel = c.uid and d.message = 'execution-ended_' || e.id)`,
  `select c.id as channel, 'dead-letter-created_' || l.execution_id as message
     from channel as c
     join dead_letter as l on l.project = c.project and l.at > c.created_at
    where substr(l.pipeline, 1, 9) <> 'holdfast.'
      and not exists (select 1 from delivery as d
                       where d.channel = c.uid and d.message = 'dead-letter-created_' || l.execution_id)`,
];

function reportMissing(world: World, sql: string): void {
  for (const { channel, message } of world.disk.rows<Delivered>(sql)) {
    world.violate('CH-2', `Channel ${channel} has no message ${message}.`);
  }
}

const EARLY = `
  select d.message
    from delivery as d
    join execution as e on d.message in ('execution-ended_' || e.id, 'dead-letter-created_' || e.id)
   where e.ended_at is null`;

const DELIVERED = 'select channel, message from delivery where status = 1';
