// Alerts of channels (CH-14, CH-15). A round of a channel is claimed, and its number fences the record.
//
//   claimAlerts ──▶ round n ──▶ figures are read ──▶ recordAlerts, if the round is still n

import { CALM_ROUNDS, RAISED_MAX } from '../../../features/channels/alerts-model.ts';
import type {
  AlertRound,
  AlertsRecorded,
  ChannelStore,
  ClaimAlerts,
  RecordAlerts,
} from '../../../features/channels/port.ts';
import {
  CHANNEL_COLUMNS,
  type ChannelRow,
  toAlert,
  toChannel,
} from '../../../features/channels/rows.ts';
import { all, every, one, type PlainGateway, type Script, sql } from '../script.ts';

// The new time is the lease: until then no other coordinator finds the channel.
const CLAIM = sql(`
  with due as materialized (
    select uid
      from hf.channel indexed by channel_alerts
     where alerts_at is not null
       and alerts_at <= hf_now() -- guard: alerts-due
     order by alerts_at
     limit :limit
       for no key update skip locked
  )
  update hf.channel
     set alerts_round = alerts_round + 1,
         alerts_at    = hf_now() + :leaseMs::bigint
   where uid in (select uid from due)
  returning ${CHANNEL_COLUMNS}, alerts_round`);

const END_ROUND = sql(`
  update hf.channel
     set alerts_at = hf_now() + :everyMs::bigint
   where uid = :uid::uuid
     and alerts_round = :round -- guard: round
  returning hf_now() as now`);

const IN_ROWS = `
         select 1
           from jsonb_to_recordset(:rows::jsonb) as n(rule text, route text)
          where n.rule = a.rule
            and n.route = a.route`;

const RAISE = sql(`
  insert into hf.alert (channel, rule, route, incident, raised_at)
  select :uid::uuid, n.rule, n.route, n.incident::uuid, :now::bigint
    from jsonb_to_recordset(:rows::jsonb) as n(rule text, route text, incident text)
   where not exists (
           select 1
             from hf.alert as a
            where a.channel = :uid::uuid
              and a.rule = n.rule
              and a.route = n.route)
   order by n.rule, n.route
   limit ${RAISED_MAX}
      on conflict (channel, rule, route) do nothing
  returning rule, route, incident, raised_at`);

const KEEP = sql(`
  update hf.alert as a
     set calm = 0
   where a.channel = :uid::uuid
     and a.calm > 0
     and exists (${IN_ROWS})`);

const CALM = sql(`
  update hf.alert as a
     set calm = calm + 1
   where a.channel = :uid::uuid
     and not exists (${IN_ROWS}) -- guard: near`);

const CLEAR = sql(`
  delete from hf.alert
   where channel = :uid::uuid
     and calm >= ${CALM_ROUNDS} -- guard: calm
  returning rule, route, incident, raised_at`);

const ANNOUNCE = sql(`
  insert into hf.delivery (channel, message, event, at, data, next_at)
  select c.uid, n.message, n.event, :now::bigint, n.data, :now::bigint
    from hf.channel as c
   cross join jsonb_to_recordset(:rows::jsonb) as n(message text, event text, data text)
   where c.uid = :uid::uuid
     and c.events like '% ' || n.event || ' %'
      on conflict (channel, message) do nothing`);

const FORGET = sql('delete from hf.alert where channel = :uid::uuid');

export function alertsOf({
  write,
}: PlainGateway): Pick<ChannelStore, 'claimAlerts' | 'recordAlerts'> {
  return {
    claimAlerts: (request) => write(() => claimAlerts(request)),
    recordAlerts: (request) => write(() => recordAlerts(structuredClone(request))),
  };
}

/** A channel that was removed, or asks for no alerts any more, leaves none open. */
export function* forgetAlerts(channel: Pick<ChannelRow, 'uid'>): Script<void> {
  yield* all(FORGET, channel);
}

type RoundRow = ChannelRow & { readonly alerts_round: number };

function claimAlerts(request: ClaimAlerts): Script<readonly AlertRound[]> {
  return every<RoundRow, AlertRound>(CLAIM, request, (row) => ({
    channel: toChannel(row),
    round: row.alerts_round,
  }));
}

function* recordAlerts(request: RecordAlerts): Script<AlertsRecorded> {
  const { over, near, round, everyMs } = request;
  const { uid } = request.channel;
  const ended = yield* one<{ readonly now: number }>(END_ROUND, { uid, round, everyMs });
  if (ended === undefined) return { kind: 'stale' };
  const values = { uid, now: ended.now, rows: JSON.stringify([...over, ...near]) };
  yield* all(KEEP, values);
  yield* all(CALM, values);
  const raised = yield* every(RAISE, { ...values, rows: JSON.stringify(over) }, toAlert);
  const cleared = yield* every(CLEAR, values, toAlert);
  const measured = new Map(over.map((each) => [JSON.stringify([each.rule, each.route]), each]));
  const messages = [
    ...raised.map(({ incident, rule, route }) => {
      const { value, threshold } = measured.get(JSON.stringify([rule, route])) ?? {};
      const data = { incident, rule, pipeline: route, value, threshold };
      return { event: 'alert-raised', incident, data };
    }),
    ...cleared.map(({ incident, rule, route, raisedAt }) => ({
      ...{ event: 'alert-cleared', incident },
      data: { incident, rule, pipeline: route, raisedAt },
    })),
  ];
  if (messages.length > 0) {
    const rows = messages.map(({ event, incident, data }) => ({
      ...{ event, message: `${event}_${incident}`, data: JSON.stringify(data) },
    }));
    yield* all(ANNOUNCE, { ...values, rows: JSON.stringify(rows) });
  }
  return { kind: 'recorded', raised: raised.length, cleared: cleared.length };
}
