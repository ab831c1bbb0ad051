// Routes for channels and their messages.

import type { ProjectName } from '../../execution/names.ts';
import { withEtag, writtenTimes } from '../../protocol/rest/handling.ts';
import {
  actorOf,
  type Coordinator,
  ProblemReply,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import { formatInstant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import { present } from '../../support/options.ts';
import { cursorPage } from '../../support/page-size.ts';
import { systemRandom } from '../../support/random.ts';
import { describeAccessRefusal } from '../access/model.ts';
import { stampOutside } from '../audit/api.ts';
import { answeredReply } from '../awaits/routes.ts';
import { ALERT_EVENTS } from './alerts-model.ts';
import { answerOfChannel } from './answering-routes.ts';
import {
  type ChannelMessage,
  type ChannelSecretMessage,
  channelOperations,
  type DeliveryMessage,
} from './messages.ts';
import { type Channel, type ChannelContent, type DeliveryRecord, TEST_EVENT } from './model.ts';
import type { ListDeliveries, NamedChannel } from './port.ts';
import { type ChannelSettings, requireTarget } from './signing-api.ts';

const PAGE = 100;
const REPLAY_MAX = 1_000;
const OVERLAP_MS = 86_400_000;
/** As in Standard Webhooks. */
const ANSWER_AGE_MS = 300_000;

export const channelRoutes: readonly Route[] = routesOf(channelOperations, {
  async putChannel(coordinator, { params, body, caller }) {
    const settings = settingsOf(coordinator);
    const { paused = false, ...content } = body;
    requireAlerts(content);
    requireTarget({ ...content, project: caller.project }, settings);
    const actor = actorOf(caller);
    const result = await coordinator.store.access.putChannel({
      ...{ ...params, ...content, paused, project: caller.project, putBy: actor },
      ...{ uid: systemRandom.uuid(), secret: settings.secrets.next() },
      audit: stampOutside('put-channel', { actor }),
    });
    if (result.kind === 'refused') {
      throw new ProblemReply(result.why, describeAccessRefusal(result));
    }
    if (result.changed) coordinator.channels?.deliveries.check();
    if (result.changed) coordinator.channels?.alerts.check();
    return { status: 200, body: { changed: result.changed } };
  },

  async readChannel(coordinator, { params, caller, header }) {
    const found = await channelFor(coordinator, { ...params, project: caller.project });
    return withEtag(channelMessage(found), header('if-none-match'));
  },

  async listChannels({ store }, { query, caller, header }) {
    const { cursor: after, limit = PAGE } = query;
    const found = await store.access.channels({
      ...{ project: caller.project, limit },
      ...present({ after }),
    });
    const { items, cursor } = cursorPage(found, { limit }, ({ id }) => id);
    const shown = { items: items.map(channelMessage), ...(cursor && { cursor }) };
    return withEtag(shown, header('if-none-match'));
  },

  async removeChannel({ store }, { params, caller }) {
    const body = await store.access.removeChannel({
      ...{ ...params, project: caller.project },
      audit: stampOutside('remove-channel', { actor: actorOf(caller) }),
    });
    return { status: 200, body };
  },

  async readChannelSecret(coordinator, { params, caller }) {
    const settings = settingsOf(coordinator);
    const found = await channelFor(coordinator, { ...params, project: caller.project });
    return {
      status: 200,
      body: secretMessage(settings, found, coordinator.clock.wallMs()),
      headers: { 'cache-control': 'no-store' },
    };
  },

  async rotateChannelSecret(coordinator, { params, body, caller }) {
    const settings = settingsOf(coordinator);
    const { overlapMs = OVERLAP_MS } = body;
    const result = await coordinator.store.access.rotateChannel({
      ...{ ...params, project: caller.project, overlapMs, secret: settings.secrets.next() },
      audit: stampOutside('rotate-channel', { actor: actorOf(caller) }),
    });
    if (result.kind === 'unknown') throw unknownChannel(params.id);
    const { channel } = result;
    if (result.kind === 'overlaps') {
      const until = channel.previous && formatInstant(channel.previous.until);
      throw new ProblemReply(
        'secret-overlaps',
        `Channel "${params.id}" was rotated, and its previous secret is valid until ${until}. Nothing was written. Read the new secret: holdfast channel secret ${params.id} (GET /v1/channels/${params.id}/secret).`,
      );
    }
    return { status: 200, body: secretMessage(settings, channel, coordinator.clock.wallMs()) };
  },

  async testChannel({ store, channels }, { params, caller }) {
    const message = `${TEST_EVENT}_${systemRandom.uuid()}`;
    const result = await store.access.testChannel({
      ...{ ...params, project: caller.project, message },
      audit: stampOutside('test-channel', { actor: actorOf(caller) }),
    });
    if (result.kind === 'unknown') throw unknownChannel(params.id);
    channels?.deliveries.check();
    return { status: 200, body: { id: message } };
  },

  async answerByChannel(coordinator, { params, body }) {
    const given = { ...body, ...params };
    return answeredReply(await answerOfChannel(coordinator, given, ANSWER_AGE_MS));
  },

  async listDeliveries(coordinator, { params, query, caller }) {
    const { cursor, limit = PAGE, state } = query;
    const named = { ...params, project: caller.project };
    await channelFor(coordinator, named);
    const found = await coordinator.store.access.deliveries({
      ...{ ...named, limit },
      ...present({ state, before: cursor === undefined ? undefined : placeOf(cursor) }),
    });
    const page = cursorPage(found, { limit }, ({ at, id }) => `${at}_${id}`);
    return { status: 200, body: { ...page, items: page.items.map(deliveryMessage) } };
  },

  async replayDeliveries({ store, channels }, { params, body, caller }) {
    const result = await store.access.replayDeliveries({
      ...{ ...params, ...body, project: caller.project, limit: REPLAY_MAX },
      audit: stampOutside('replay-channel', { actor: actorOf(caller) }),
    });
    if (result.kind === 'unknown') throw unknownChannel(params.id);
    if (result.count > 0) channels?.deliveries.check();
    return { status: 200, body: { count: result.count } };
  },
});

function settingsOf({ channels }: Coordinator): ChannelSettings {
  if (channels !== undefined) return channels;
  throw new ProblemReply(
    'channels-off',
    'This coordinator has no keys for channels. Nothing was written. Start it with --channels-signing-file <file>.',
  );
}

/** Limits that no message would ever report are a mistake. */
function requireAlerts({ events, alerts }: Pick<ChannelContent, 'events' | 'alerts'>): void {
  if (alerts === undefined || ALERT_EVENTS.some((each) => events.includes(each))) return;
  throw new InvalidInput(
    'alerts needs alert-raised or alert-cleared among the events. Nothing was written. Add one, or leave out alerts.',
  );
}

async function channelFor({ store }: Coordinator, named: NamedChannel): Promise<Channel> {
  const found = await store.access.channel(named);
  if (found === undefined) throw unknownChannel(named.id);
  return found;
}

function unknownChannel(id: string): ProblemReply {
  return new ProblemReply(
    'channel-unknown',
    `There is no channel "${id}" in this project. Nothing was written. List the channels: holdfast channel.`,
  );
}

function placeOf(cursor: string): NonNullable<ListDeliveries['before']> {
  const [, at, id] = /^(\d{1,15})_(.+)$/.exec(cursor) ?? [];
  if (at !== undefined && id !== undefined) return { at: Number(at), id };
  throw new InvalidInput('cursor must be the `cursor` of the page before.');
}

function channelMessage(channel: Channel): ChannelMessage {
  const { project: _p, uid: _u, secret: _s, previous: _b, events, ...rest } = channel;
  return {
    ...{ ...rest, events: [...events] },
    ...writtenTimes(channel, 'openUntil', 'createdAt', 'changedAt'),
  } as ChannelMessage;
}

function secretMessage(
  { secrets }: ChannelSettings,
  { id, secret, previous }: Channel & { readonly project: ProjectName },
  nowMs: number,
): ChannelSecretMessage {
  const own = secrets.textOf(secret);
  if (own === undefined) {
    throw new ProblemReply(
      'channels-off',
      `The secret of channel "${id}" is derived from a key that this coordinator does not have. Add the key to the file, or rotate the secret: holdfast channel rotate ${id}.`,
    );
  }
  const before = previous && previous.until > nowMs ? secrets.textOf(previous.secret) : undefined;
  return {
    secret: own,
    ...(previous === undefined || before === undefined
      ? {}
      : { previous: { secret: before, validUntil: formatInstant(previous.until) } }),
  };
}

function deliveryMessage({ failed: _, log, ...delivery }: DeliveryRecord): DeliveryMessage {
  return {
    ...delivery,
    ...writtenTimes(delivery, 'at', 'nextAt', 'doneAt'),
    log: log.map((each) => ({ ...each, at: formatInstant(each.at) })),
  } as DeliveryMessage;
}
