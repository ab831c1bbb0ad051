// Detects and repairs store time that differs from the host's clock.

import { type LeasePolicy, resolvePolicy } from '../../lease/policy.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import type { StoreProblem } from '../contract/census-store.ts';
import { Connection, toFault } from './connection.ts';
import type { Database } from './database.ts';

/** Smaller differences come from NTP corrections. */
const AHEAD_MS = 10_000;

const SET_CLOCK_BACK =
  'Correct the clock of the host (NTP), then run: holdfast doctor --set-clock-back --store <file>';

/** Reports that store time is ahead of the host's clock, or does not follow it yet (C-9). */
export async function clockProblem(database: Database): Promise<StoreProblem | undefined> {
  const leadMs = await database.read(() => database.leadMs);
  const seconds = Math.round(Math.abs(leadMs) / 1_000);
  if (leadMs > AHEAD_MS) {
    return {
      sentence: `Store time is ${seconds} s ahead of the clock of this host, which was ahead once or was set back. Sleeps until a time of day end early, and schedules fire at wrong times.`,
      advice: SET_CLOCK_BACK,
    };
  }
  if (leadMs < -AHEAD_MS) {
    return {
      sentence: `The clock of this host jumped ahead by ${seconds} s. Store time follows if the clock stays there for two minutes.`,
      advice: 'If the clock is wrong, correct it now (NTP).',
    };
  }
  return undefined;
}

// Store time never goes back. If the host's clock was days ahead for a moment, store time stays
// ahead: sleeps until a time of day end early, and schedules fire at wrong times. Only a person
// knows that the host's clock is right again (C-8).

// Rows written while the clock was ahead keep their remaining time. Rows written before that are
// correct.
const MOVE_BACK: readonly string[] = [
  'update session set ended_at = :host where ended_at > :host',
  'update session set beat_at = beat_at - :lead, expires_at = expires_at - :lead where ended_at is null and beat_at > :host',
  'update lease set hard_deadline_at = hard_deadline_at - :lead where ended_at is null and granted_at > :host',
  'update lease set drain_deadline_at = drain_deadline_at - :lead where ended_at is null and drain_requested_at > :host',
  'update lease set reserved_until = reserved_until - :lead where ended_at > :host',
  'update ticket set expires_at = min(expires_at, :host + :ticketMs)',
  'update flap set until = min(until, :host + 4 * :flapUnitMs)',
  'update rate set last_at = min(last_at, :host)',
  `update execution
      set ready_at = ready_at - :lead
    where ready_at > :host
      and (select h.at from history h where h.row_id = execution.row_id order by h.seq desc limit 1) > :host`,
  'update execution set deadline_at = deadline_at - :lead where ended_at is null and submitted_at > :host',
  'update await_unit set due_at = due_at - :lead, next_at = next_at - :lead where settled_at is null and opened_at > :host',
  'update worker set announced_at = min(announced_at, :host), proved_at = min(proved_at, :host)',
  `insert into event (at, kind, detail) values (:host, 'alarm', json_object('alarm', 'clock-set-back', 'cause', :cause))`,
  'update meta set clock_at = :host, clock_seen = null where id = 1',
];

/**
 * Returns the number of milliseconds that store time moved back; 0 if it was not ahead. Processes
 * that have the file open follow.
 */
export function setSqliteClockBack(
  file: string,
  policy: LeasePolicy = resolvePolicy(undefined),
  clock: Clock = systemClock,
): number {
  const connection = new Connection(file);
  try {
    connection.configure('full');
    connection.run('begin immediate');
    const host = clock.wallMs();
    const sql = 'select clock_at - :host as lead from meta where id = 1 and sealed is null';
    const lead = Math.max(0, connection.get<{ lead: number }>(sql, { host })?.lead ?? 0);
    const cause = `store time was ${lead} ms ahead of the host's clock`;
    const { ticketMs, flapUnitMs } = policy;
    if (lead > 0) {
      for (const each of MOVE_BACK)
        connection.run(each, { host, lead, cause, ticketMs, flapUnitMs });
    }
    connection.run('commit');
    return lead;
  } catch (error) {
    connection.undo();
    throw toFault(error);
  } finally {
    connection.close();
  }
}
