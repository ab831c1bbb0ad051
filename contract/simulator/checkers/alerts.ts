// Judges the alerts of channels: one claim at a time has a round, only its caller records, and an alert
// is raised once and cleared once.

import type {
  AlertRound,
  AlertsRecorded,
  ClaimAlerts,
  RecordAlerts,
} from '../../../src/features/channels/port.ts';
import type { StoreCall } from '../link.ts';
import type { Checker, World } from '../world.ts';

/** Rounds in a row without a reason to keep an alert, after which it is cleared (CH-15). */
const CALM_ROUNDS = 2;

/** A channel as its claims and records left it. */
interface Known {
  round: number;
  /** No claim may take it before, unless an operator puts it. */
  hiddenUntil: number;
  /** Open alerts, with their calm rounds. */
  readonly open: Map<string, number>;
}

export function alertedOnce(world: World): Checker {
  let known = new Map<string, Known>();
  let backup = known;
  const judges: Readonly<Record<string, (call: StoreCall, at: number) => void>> = {
    'access.putChannel'() {
      for (const each of known.values()) each.hiddenUntil = 0;
    },
    'access.claimAlerts'({ request, reply }, at) {
      const { leaseMs } = request as ClaimAlerts;
      for (const { channel, round } of (reply ?? []) as readonly AlertRound[]) {
        const before = known.get(channel.uid) ?? { round: 0, hiddenUntil: 0, open: new Map() };
        if (before.hiddenUntil > at || before.round >= round) {
          world.violate('CH-14', `Round ${round} was claimed beside round ${before.round}.`);
        }
        known.set(channel.uid, { ...before, round, hiddenUntil: at + leaseMs });
      }
    },
    'access.recordAlerts'({ request, reply }, at) {
      const { channel, round, everyMs, over, near } = request as RecordAlerts;
      const result = reply as AlertsRecorded | undefined;
      const found = known.get(channel.uid);
      if (result?.kind !== 'recorded' || found === undefined) return;
      if (found.round !== round) {
        world.violate('CH-14', `Round ${round} was recorded after round ${found.round} began.`);
      }
      found.hiddenUntil = at + everyMs;
      const expected = evaluate(found.open, {
        over: new Set(over.map(nameOf)),
        kept: new Set([...over, ...near].map(nameOf)),
      });
      const { raised, cleared } = result;
      if (raised === expected.raised && cleared === expected.cleared) return;
      world.violate(
        'CH-15',
        `Round ${round} raised ${raised} and cleared ${cleared}, not ${expected.raised} and ${expected.cleared}.`,
      );
    },
  };
  return {
    name: 'alerts',
    handled(call) {
      if (call.at !== undefined) judges[call.verb]?.(call, call.at);
    },
    backedUp() {
      backup = structuredClone(known);
    },
    restored() {
      known = structuredClone(backup);
    },
    async ended() {
      for (const { incident } of world.disk.rows<{ incident: string }>(SILENT)) {
        world.violate('CH-15', `Alert ${incident} is open, and no message announces it.`);
      }
    },
  };
}

function nameOf({ rule, route }: { readonly rule: string; readonly route: string }): string {
  return `${rule} of ${route}`;
}

/** Does what a round must do, and returns how many alerts it raises and clears. */
function evaluate(
  open: Map<string, number>,
  { over, kept }: { readonly over: ReadonlySet<string>; readonly kept: ReadonlySet<string> },
): { readonly raised: number; readonly cleared: number } {
  for (const [name, calm] of open) open.set(name, kept.has(name) ? 0 : calm + 1);
  const raised = [...over].filter((name) => !open.has(name));
  for (const name of raised) open.set(name, 0);
  const cleared = [...open].filter(([, calm]) => calm >= CALM_ROUNDS);
  for (const [name] of cleared) open.delete(name);
  return { raised: raised.length, cleared: cleared.length };
}

const SILENT = `
  select a.incident
    from alert as a
   where not exists (select 1 from delivery as d
                      where d.channel = a.channel and d.message = 'alert-raised_' || a.incident)`;
