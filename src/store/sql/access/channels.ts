// Channels and their messages (CH-1 … CH-9). Triggers of the migration `channels` write the messages.

import type { PutWithinQuota } from '../../../features/access/model.ts';
import { type Channel, FAILURES_MAX, TEST_EVENT } from '../../../features/channels/model.ts';
import type {
  ChangeChannel,
  ChannelRotated,
  ChannelStore,
  ClaimDeliveries,
  ClaimedDeliveries,
  DeliveriesReplayed,
  DueChannels,
  ListDeliveries,
  NamedChannel,
  PutChannel,
  RecordDeliveries,
  ReplayDeliveries,
  RotateChannel,
  TestChannel,
} from '../../../features/channels/port.ts';
import {
  alertsText,
  CHANNEL_COLUMNS,
  type ChannelRow,
  DELIVERY_CODES,
  type DeliveryRow,
  eventsText,
  toChannel,
  toDelivery,
} from '../../../features/channels/rows.ts';
import { keyPrefixOf } from '../../../features/leases/model.ts';
import { type Instant, toInstant } from '../../../support/clock.ts';
import { present } from '../../../support/options.ts';
import { writeAudit } from '../audit.ts';
import { all, every, found, one, type PlainGateway, type Script, sql } from '../script.ts';
import { alertsOf, forgetAlerts } from './alerts.ts';
import { inTurnOf, withLimit } from './projects.ts';

const IN_TURN = inTurnOf('channels');

const USED = '(select count(*) from hf.channel as u where u.project = :project)';

const INSERT = withLimit(
  'channels',
  (limit) => `
  insert into hf.channel (project, id, uid, kind, url, events, key_prefix, paused, secret, created_at, changed_at, put_by, alerts, alerts_at, answers)
  select :project::text, :id::text, :uid::uuid, :kind::text, :url::text, :events::text, :keyPrefix::text,
         :paused::boolean, :secret::text, hf_now(), hf_now(), :putBy::text,
         :alerts::text, case when :alerts::text is not null then hf_now() end,
         :answers::boolean
   where (:quota::bigint is null or ${USED} < ${limit}) -- guard: quota
      on conflict (project, id) do nothing
  returning ${CHANNEL_COLUMNS}`,
);

const ROOM = withLimit('channels', (limit) => `select ${limit} as quota`);

const REPLACE = sql(`
  update hf.channel
     set kind       = :kind,
         url        = :url,
         events     = :events,
         paused     = :paused::boolean,
         failures   = 0,
         open_until = null,
         changed_at = hf_now(),
         put_by     = :putBy,
         alerts     = :alerts::text,
         alerts_at  = case when :alerts::text is not null then hf_now() end,
         alerts_round = alerts_round + 1,
         answers    = :answers::boolean
   where project = :project
     and id = :id
     and (kind <> :kind or url <> :url or events <> :events or paused <> :paused::boolean or coalesce(alerts, '') <> coalesce(:alerts::text, '') or answers <> :answers::boolean) -- guard: content
  returning ${CHANNEL_COLUMNS}`);

const READ = sql(`
  select ${CHANNEL_COLUMNS}
    from hf.channel
   where project = :project
     and id = :id`);

const LIST = sql(`
  select ${CHANNEL_COLUMNS}
    from hf.channel
   where project = :project
     and id > :after
   order by id
   limit :limit`);

const REMOVE = sql(`
  delete from hf.channel
   where project = :project
     and id = :id
  returning ${CHANNEL_COLUMNS}, hf_now() as now`);

// A second rotation would end the secret that receivers still have.
const ROTATE = sql(`
  update hf.channel
     set previous_secret = secret,
         previous_until  = hf_now() + :overlapMs::bigint,
         secret          = :secret,
         changed_at      = hf_now()
   where project = :project
     and id = :id
     and coalesce(previous_until <= hf_now(), true) -- guard: overlap
  returning ${CHANNEL_COLUMNS}`);

const DELIVERY_COLUMNS =
  'message, event, at, data, next_at, attempts, failed, status, done_at, log';

const WRITE_TEST = sql(`
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, :message::text, '${TEST_EVENT}', hf_now(), '{}', hf_now()
    from hf.channel as c
   where c.project = :project
     and c.id = :id
      on conflict (channel, message) do nothing
  returning at`);

const byState = (condition: string): ReturnType<typeof sql> =>
  sql(`
  select ${DELIVERY_COLUMNS}
    from hf.delivery
   where channel = :uid::uuid
     and ${condition}
     and (at, message) < (:at::bigint, :message::text)
   order by at desc, message desc
   limit :limit`);

const LOG = byState('true');
const LOG_OF_STATE = byState('status = :status::smallint');

const REPLAY_ONE = sql(`
  update hf.delivery
     set status  = ${DELIVERY_CODES.pending},
         failed  = 0,
         next_at = hf_now(),
         done_at = null
   where channel = :uid::uuid
     and message = :message
     and status <> ${DELIVERY_CODES.pending} -- guard: over
  returning message, hf_now() as now`);

const REPLAY_FAILED = sql(`
  with failed as materialized (
    select message
      from hf.delivery
     where channel = :uid::uuid
       and status = ${DELIVERY_CODES.failed} -- guard: failed
     order by at, message
     limit :limit
       for no key update
  )
  update hf.delivery
     set status  = ${DELIVERY_CODES.pending},
         failed  = 0,
         next_at = hf_now(),
         done_at = null
   where channel = :uid::uuid
     and message in (select message from failed)
  returning message, hf_now() as now`);

const CLOSE_CIRCUIT = sql(`
  update hf.channel
     set open_until = null
   where uid = :uid::uuid`);

const CAN_SEND = `not c.paused
     and coalesce(c.open_until <= hf_now(), true)`;

const ANY = sql('select uid from hf.channel limit 1');

const DUE = sql(`
  select c.project, c.id, c.uid
    from hf.channel as c
   where ${CAN_SEND}
     and exists (
           select 1
             from hf.delivery as d
            where d.channel = c.uid
              and d.next_at is not null
              and d.next_at <= hf_now())`);

const OPEN_CHANNEL = sql(`
  select ${CHANNEL_COLUMNS}
    from hf.channel as c
   where c.uid = :uid::uuid
     and ${CAN_SEND}`);

// The new time is the lease: until then no other coordinator finds the message.
const CLAIM = sql(`
  with due as materialized (
    select message
      from hf.delivery indexed by delivery_due
     where channel = :uid::uuid
       and next_at is not null
       and next_at <= hf_now() -- guard: due
     order by next_at
     limit :limit
       for no key update skip locked
  )
  update hf.delivery
     set attempts = attempts + 1,
         next_at  = hf_now() + :leaseMs::bigint
   where channel = :uid::uuid
     and message in (select message from due)
  returning ${DELIVERY_COLUMNS}`);

const RECORD = sql(`
  update hf.delivery
     set status  = :status::smallint,
         failed  = :failed,
         next_at = case when :status::smallint = ${DELIVERY_CODES.pending} then hf_now() + :nextInMs::bigint end,
         done_at = case when :status::smallint <> ${DELIVERY_CODES.pending} then hf_now() end,
         log     = :log
   where channel = :uid::uuid
     and message = :id
     and attempts = :attempts -- guard: attempt
     and status = ${DELIVERY_CODES.pending} -- guard: pending
  returning message`);

const COUNT_FAILURES = sql(`
  update hf.channel
     set failures   = case when :failures::integer = 0 then 0 else failures + :failures::integer end,
         open_until = case when :failures::integer > 0 and failures + :failures::integer >= ${FAILURES_MAX}
                           then hf_now() + :cooldownMs::bigint end,
         paused     = paused or :pauses::boolean
   where uid = :uid::uuid
     and (failures > 0 or :failures::integer > 0)`);

const REMOVE_OLD = sql(`
  with old as materialized (
    select channel, message
      from hf.delivery indexed by delivery_at
     where at < hf_now() - :olderThanMs::bigint
     order by at
     limit :limit
  )
  delete from hf.delivery
   where (channel, message) in (select channel, message from old)
  returning message`);

export function channelsOf(gateway: PlainGateway): ChannelStore {
  const { read, write } = gateway;
  return {
    ...alertsOf(gateway),
    putChannel: (request) => write(() => putChannel({ ...request })),
    channel: (named) => read(() => found(READ, named, toChannel)),
    channels: (query) => read(() => every(LIST, { after: '', ...query }, toChannel)),
    removeChannel: (request) => write(() => removeChannel({ ...request })),
    rotateChannel: (request) => write(() => rotateChannel({ ...request })),
    testChannel: (request) => write(() => testChannel({ ...request })),
    deliveries: (query) => read(() => deliveries(query)),
    replayDeliveries: (request) => write(() => replay({ ...request })),
    dueChannels: () => read(dueChannels),
    claimDeliveries: (request) => write(() => claim({ ...request })),
    recordDeliveries: (request) => write(() => record(structuredClone(request))),
    removeDeliveries: (request) =>
      write(function* () {
        const removed = yield* all(REMOVE_OLD, request);
        return { more: removed.length >= request.limit };
      }),
  };
}

function* putChannel(request: PutChannel): Script<PutWithinQuota> {
  const { project } = request;
  const values = {
    ...request,
    events: eventsText(request),
    alerts: alertsText(request),
    answers: request.answers === true,
    secret: JSON.stringify(request.secret),
    keyPrefix: keyPrefixOf(project),
  };
  yield* all(IN_TURN, request);
  const inserted = yield* one<ChannelRow>(INSERT, values);
  const before = inserted === undefined ? yield* one<ChannelRow>(READ, request) : undefined;
  const left = inserted ?? (yield* one<ChannelRow>(REPLACE, values));
  if (left === undefined && before === undefined) {
    const limit = (yield* one<{ quota: number }>(ROOM, request))?.quota ?? 0;
    return { kind: 'refused', why: 'over-quota', project, quota: 'channels', limit };
  }
  if (left !== undefined) {
    if (left.alerts === null) yield* forgetAlerts(left);
    yield* audited(request, { before, after: left, at: toInstant(left.changed_at) });
  }
  return { kind: 'put', changed: left !== undefined };
}

function* removeChannel(request: ChangeChannel): Script<{ readonly kind: 'done' | 'no-change' }> {
  yield* all(IN_TURN, request);
  const before = yield* one<ChannelRow & { readonly now: number }>(REMOVE, request);
  if (before === undefined) return { kind: 'no-change' };
  yield* forgetAlerts(before);
  yield* audited(request, { before, at: toInstant(before.now) });
  return { kind: 'done' };
}

function* rotateChannel(request: RotateChannel): Script<ChannelRotated> {
  const values = { ...request, secret: JSON.stringify(request.secret) };
  const rotated = yield* found(ROTATE, values, toChannel);
  if (rotated === undefined) {
    const channel = yield* found(READ, request, toChannel);
    return channel === undefined ? { kind: 'unknown' } : { kind: 'overlaps', channel };
  }
  const { previous } = rotated;
  yield* acted(request, { validUntil: previous?.until }, rotated.changedAt);
  return { kind: 'rotated', channel: rotated };
}

function* testChannel(request: TestChannel): Script<{ readonly kind: 'done' | 'unknown' }> {
  const written = yield* one<{ at: number }>(WRITE_TEST, request);
  if (written !== undefined) {
    yield* acted(request, { message: request.message }, toInstant(written.at));
    return { kind: 'done' };
  }
  const channel = yield* one(READ, request);
  return { kind: channel === undefined ? 'unknown' : 'done' };
}

/** After every time and every id. */
const NEWEST = { at: Number.MAX_SAFE_INTEGER, id: '' };

function* deliveries({ state, before = NEWEST, ...query }: ListDeliveries) {
  const channel = yield* found(READ, query, toChannel);
  if (channel === undefined) return [];
  const values = {
    ...{ uid: channel.uid, at: before.at, message: before.id, limit: query.limit },
    ...(state && { status: DELIVERY_CODES[state] }),
  };
  return yield* every<DeliveryRow, ReturnType<typeof toDelivery>>(
    state === undefined ? LOG : LOG_OF_STATE,
    values,
    toDelivery,
  );
}

function* replay(request: ReplayDeliveries): Script<DeliveriesReplayed> {
  const channel = yield* found(READ, request, toChannel);
  if (channel === undefined) return { kind: 'unknown' };
  const { message, limit } = request;
  const values = { uid: channel.uid, message, limit };
  const replayed = yield* all<{ now: number }>(
    message === undefined ? REPLAY_FAILED : REPLAY_ONE,
    values,
  );
  const [first] = replayed;
  const { length: count } = replayed;
  if (first === undefined) return { kind: 'replayed', count };
  yield* all(CLOSE_CIRCUIT, values);
  yield* acted(request, { count, ...(message && { message }) }, toInstant(first.now));
  return { kind: 'replayed', count };
}

function* dueChannels(): Script<DueChannels> {
  const hasAny = (yield* one(ANY)) !== undefined;
  if (!hasAny) return { due: [], hasAny };
  const due = yield* all<NamedChannel & Pick<Channel, 'uid'>>(DUE);
  return { due: due.map((each) => ({ ...each })), hasAny };
}

function* claim(request: ClaimDeliveries): Script<ClaimedDeliveries | undefined> {
  const channel = yield* found(OPEN_CHANNEL, request, toChannel);
  if (channel === undefined) return undefined;
  const claimed = yield* every<DeliveryRow, ReturnType<typeof toDelivery>>(
    CLAIM,
    request,
    toDelivery,
  );
  return { channel, deliveries: claimed };
}

function* record(request: RecordDeliveries): Script<readonly string[]> {
  const { uid } = request.channel;
  const recorded: string[] = [];
  for (const { state, nextInMs, log, ...attempt } of request.attempts) {
    const status = DELIVERY_CODES[state];
    const values = { ...attempt, uid, status, nextInMs, log: JSON.stringify(log) };
    const row = yield* one<{ message: string }>(RECORD, values);
    if (row !== undefined) recorded.push(row.message);
  }
  yield* all(COUNT_FAILURES, { ...request, uid });
  return recorded;
}

interface ChannelChange {
  readonly before?: ChannelRow | undefined;
  readonly after?: ChannelRow;
  readonly at: Instant;
}

function* audited(request: ChangeChannel, { before, after, at }: ChannelChange): Script<void> {
  const { project, id } = request;
  const facts = (row: ChannelRow) => {
    const { kind, url, events, paused, alerts, answers } = toChannel(row);
    return { kind, url, events, paused, ...present({ alerts, answers }) };
  };
  const changed = {
    ...{ project, target: { kind: 'channel', id } as const },
    ...(before === undefined ? {} : { before: facts(before) }),
    ...(after === undefined ? {} : { after: facts(after) }),
  };
  yield* writeAudit(request, changed, at);
}

/** The record of an operation that leaves the content as it is. */
function* acted(request: ChangeChannel, after: object, at: Instant): Script<void> {
  const { project, id } = request;
  yield* writeAudit(request, { project, target: { kind: 'channel', id }, after: { ...after } }, at);
}
