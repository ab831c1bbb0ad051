// Rows of channels and messages, in one shape for both SQL stores.

import type { ProjectName } from '../../execution/names.ts';
import { parseRoute } from '../../execution/route.ts';
import { toStatus } from '../../store/execution-rows.ts';
import { formatInstant, type Instant, toInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { STORED_SET_CANARY } from '../releases/rows.ts';
import { type Alert, type AlertLimits, type AlertRule, alertLimitsOf } from './alerts-model.ts';
import type {
  Channel,
  ChannelContent,
  ChannelEvent,
  ChannelKind,
  DeliveryAttempt,
  DeliveryRecord,
  DeliveryState,
  SecretName,
} from './model.ts';

export const DELIVERY_CODES: Readonly<Record<DeliveryState, number>> = {
  pending: 0,
  delivered: 1,
  failed: 2,
};

const STATES = Object.keys(DELIVERY_CODES) as DeliveryState[];

export const CHANNEL_COLUMNS =
  'project, id, uid, kind, url, events, paused, failures, open_until, secret, previous_secret, previous_until, created_at, changed_at, put_by, alerts, answers';

export interface ChannelRow {
  readonly project: string;
  readonly id: string;
  readonly uid: string;
  readonly kind: string;
  readonly url: string;
  readonly events: string;
  readonly paused: number | boolean;
  readonly failures: number;
  readonly open_until: number | null;
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly previous_until: number | null;
  readonly created_at: number;
  readonly changed_at: number;
  readonly put_by: string | null;
  readonly alerts: string | null;
  readonly answers: number | boolean;
}

export function toChannel(row: ChannelRow): Channel {
  const { previous_secret: previous, previous_until: until } = row;
  return {
    ...{ project: row.project as ProjectName, id: row.id, uid: row.uid, url: row.url },
    kind: row.kind as ChannelKind,
    events: row.events.trim().split(' ') as ChannelEvent[],
    paused: Boolean(row.paused),
    failures: row.failures,
    secret: JSON.parse(row.secret) as SecretName,
    createdAt: toInstant(row.created_at),
    changedAt: toInstant(row.changed_at),
    ...(row.open_until === null ? {} : { openUntil: toInstant(row.open_until) }),
    ...(previous === null || until === null
      ? {}
      : { previous: { secret: JSON.parse(previous) as SecretName, until: toInstant(until) } }),
    ...(row.put_by === null ? {} : { putBy: row.put_by }),
    ...(Boolean(row.answers) && { answers: true }),
    ...(row.alerts === null ? {} : { alerts: JSON.parse(row.alerts) as AlertLimits }),
  };
}

/** The limits with their defaults, in one order; undefined if the channel asks for no alerts. */
export function alertsText(content: Pick<ChannelContent, 'events' | 'alerts'>): string | undefined {
  const limits = alertLimitsOf(content);
  if (limits === undefined) return undefined;
  const { deadLetters, windowMs, queueAgeMs, noWorkersMs } = limits;
  return JSON.stringify({ deadLetters, windowMs, queueAgeMs, noWorkersMs });
}

/** A space is around each word, so that a trigger finds a whole word. */
export function eventsText({ events }: Pick<ChannelContent, 'events'>): string {
  return ` ${[...new Set(events)].toSorted().join(' ')} `;
}

export interface DeliveryRow {
  readonly message: string;
  readonly event: string;
  readonly at: number;
  readonly data: string;
  readonly next_at: number | null;
  readonly attempts: number;
  readonly failed: number;
  readonly status: number;
  readonly done_at: number | null;
  readonly log: string;
}

export function toDelivery(row: DeliveryRow): DeliveryRecord {
  return {
    id: row.message,
    event: row.event as DeliveryRecord['event'],
    at: toInstant(row.at),
    data: shownData(JSON.parse(row.data) as Facts),
    state: STATES[row.status] ?? 'failed',
    attempts: row.attempts,
    failed: row.failed,
    log: JSON.parse(row.log) as DeliveryAttempt[],
    ...(row.next_at === null ? {} : { nextAt: toInstant(row.next_at) }),
    ...(row.done_at === null ? {} : { doneAt: toInstant(row.done_at) }),
  };
}

export interface AlertRow {
  readonly rule: string;
  readonly route: string;
  readonly incident: string;
  readonly raised_at: number;
}

export function toAlert({ rule, route, incident, raised_at }: AlertRow): Alert {
  return { rule: rule as AlertRule, route, incident, raisedAt: toInstant(raised_at) };
}

type Facts = Readonly<Record<string, unknown>>;

/** Triggers write the columns of rows. Receivers get the words of the API. */
function shownData(data: Facts): Facts {
  const { pipeline, status, action, submittedAt, dueAt, raisedAt, ...facts } = data;
  const given = Object.entries(facts).filter(([, value]) => value !== null);
  return {
    ...Object.fromEntries(given),
    ...(typeof pipeline === 'string' ? parseRoute(pipeline) : {}),
    ...present({
      status: typeof status === 'number' ? toStatus(status) : undefined,
      action: action === STORED_SET_CANARY ? 'set-canary' : action,
      submittedAt: timeOf(submittedAt),
      dueAt: timeOf(dueAt),
      raisedAt: timeOf(raisedAt),
    }),
  };
}

function timeOf(value: unknown): string | undefined {
  return typeof value === 'number' ? formatInstant(value as Instant) : undefined;
}
