import assert from 'node:assert/strict';
import { HoldfastClient } from '../../../src/client/client.ts';
import { StepError } from '../../../src/engine/failures.ts';
import type { ChannelBody } from '../../../src/features/channels/messages.ts';
import { pipeline } from '../../../src/index.ts';
import { openServer } from '../../../src/server/serve.ts';
import { signedAnswer, WebhookReceiver } from '../../services/webhook-receiver.ts';
import { nameIn, refusedWith, until } from '../coordinator.ts';
import type { Case } from './case.ts';

const SIGNING = { keys: { k1: 'channel secret '.repeat(3) }, current: 'k1' };
const LOCAL = { privateAddresses: true, http: true };
const given = { channels: { signing: SIGNING, allow: LOCAL, timeoutMs: 1_000 } };

const echo = pipeline({ name: 'echo', run: (_, input: unknown) => input });
const fails = pipeline({
  name: 'fails',
  run: (ctx) =>
    ctx.step('pay', () => {
      throw new StepError('no funds', { category: 'permanent', code: 'declined' });
    }),
});

const webhook = (
  url: string,
  events: ChannelBody['events'] = ['execution-ended'],
): ChannelBody => ({
  ...{ kind: 'webhook', url, events },
});

const delivers: Case = {
  name: 'the end of an execution and a dead letter reach a webhook, signed; the log has each attempt',
  given,
  async run(coordinator) {
    await using receiver = await WebhookReceiver.open();
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const body = webhook(`${receiver.url}/a`, ['execution-ended', 'dead-letter-created']);
    assert.deepEqual(await client.channels.put('orders', body), { changed: true });
    assert.deepEqual(await client.channels.put('orders', body), { changed: false });
    receiver.secrets = [(await client.channels.secret('orders')).secret];
    await coordinator.worker([echo, fails]);
    const done = await client.executions.submit({ pipeline: 'echo', input: 1, key: 'order-1' });
    const failed = await client.executions.submit({ pipeline: 'fails' });
    const found = await until(async () =>
      receiver.received.length >= 3 ? receiver.received : undefined,
    );
    const texts = found.map(({ id, type, data, signedBy }) =>
      JSON.stringify([
        id,
        type,
        data['project'],
        data['pipeline'],
        data['status'],
        data['code'],
        data['key'],
        signedBy,
      ]),
    );
    const expected = [
      [
        `execution-ended_${done.id}`,
        'execution-ended',
        'default',
        'echo',
        'completed',
        null,
        'order-1',
        [0],
      ],
      [
        `execution-ended_${failed.id}`,
        'execution-ended',
        'default',
        'fails',
        'failed',
        null,
        null,
        [0],
      ],
      [
        `dead-letter-created_${failed.id}`,
        'dead-letter-created',
        'default',
        'fails',
        'failed',
        'declined',
        null,
        [0],
      ],
    ];
    assert.deepEqual(texts.toSorted(), expected.map((each) => JSON.stringify(each)).toSorted());
    const log = await until(async () => {
      const { items } = await client.channels.deliveries('orders');
      return items.every(({ state }) => state === 'delivered') ? items : undefined;
    });
    assert.deepEqual(
      log.map(({ attempts, log }) => [attempts, log[0]?.status]),
      [
        [1, 204],
        [1, 204],
        [1, 204],
      ],
    );
    const first = await client.channels.deliveries('orders', { limit: 2 });
    const rest = await client.channels.deliveries('orders', {
      limit: 2,
      cursor: first.cursor ?? '',
    });
    assert.deepEqual([...first.items, ...rest.items], log);
    assert.deepEqual((await client.channels.deliveries('orders', { state: 'failed' })).items, []);
  },
};

const repairs: Case = {
  name: 'a receiver that fails holds up no other channel; when it is well again, a replay sends at once',
  given,
  async run(coordinator) {
    await using receiver = await WebhookReceiver.open();
    const client = await coordinator.client(['operate', 'submit'], 'default');
    await client.channels.put('bad', webhook(`${receiver.url}/bad`));
    await client.channels.put('moved', webhook(`${receiver.url}/moved`));
    await client.channels.put('gone', webhook(`${receiver.url}/gone`));
    await client.channels.put('good', webhook(`${receiver.url}/good`));
    receiver.reply = ({ path }) => ({ '/bad': 500, '/moved': 302, '/gone': 410 })[path] ?? 200;
    await coordinator.worker([echo]);
    const ids: string[] = [];
    for (let nth = 0; nth < 6; nth += 1) {
      ids.push(
        `execution-ended_${(await client.executions.submit({ pipeline: 'echo', input: nth })).id}`,
      );
    }
    await until(async () => (new Set(receiver.idsOn('/good')).size === 6 ? true : undefined));
    const bad = await until(async () => {
      const found = await client.channels.read('bad');
      return found.openUntil === undefined ? undefined : found;
    });
    assert.equal(bad.failures, 5);
    assert.equal(receiver.idsOn('/bad').length, 5);
    await until(async () => ((await client.channels.read('gone')).paused ? true : undefined));
    assert.equal(receiver.idsOn('/gone').length, 1);
    assert.deepEqual(receiver.idsOn('/elsewhere'), []);
    const [attempt] = (await client.channels.deliveries('moved')).items.flatMap(({ log }) => log);
    assert.match(attempt?.error ?? '', /status 302/);
    // Pending messages wait for their next attempt; a replay of one that is over goes at once.
    receiver.reply = () => 200;
    const [over] = (await client.channels.deliveries('good', { limit: 1 })).items;
    const before = receiver.idsOn('/good').length;
    assert.deepEqual(await client.channels.replay('good', { message: over?.id ?? '' }), {
      count: 1,
    });
    await until(async () => (receiver.idsOn('/good').length > before ? true : undefined));
    assert.equal(receiver.idsOn('/good').at(-1), over?.id);
    assert.deepEqual(new Set(receiver.idsOn('/good')), new Set(ids));
    assert.deepEqual(await client.channels.replay('good'), { count: 0 });
  },
};

const rotates: Case = {
  name: 'after a rotation both secrets sign; a second rotation is refused, and a test message arrives',
  given,
  async run(coordinator) {
    await using receiver = await WebhookReceiver.open();
    const client = await coordinator.client(['operate'], 'default');
    await client.channels.put('orders', webhook(receiver.url));
    const { secret: old } = await client.channels.secret('orders');
    const rotated = await client.channels.rotate('orders', { overlapMs: 60_000 });
    assert.equal(rotated.previous?.secret, old);
    await assert.rejects(client.channels.rotate('orders'), refusedWith('secret-overlaps', 409));
    assert.deepEqual(await client.channels.secret('orders'), rotated);
    receiver.secrets = [rotated.secret, old];
    const { id } = await client.channels.test('orders');
    const [message] = await until(async () =>
      receiver.received.length > 0 ? receiver.received : undefined,
    );
    assert.deepEqual([message?.id, message?.type, message?.signedBy], [id, 'test', [0, 1]]);
  },
};

const refuses: Case = {
  name: 'CH-10: channels are listed and removed, within their project, its quota and the allowed addresses',
  given: { channels: { signing: SIGNING }, quotas: { channels: 2 } },
  async run(coordinator) {
    const client = await coordinator.client(['operate'], 'default');
    const body = webhook('https://receiver.invalid/a?token=1');
    await client.channels.put('b', { ...body, paused: true });
    await client.channels.put('a', { ...body, paused: true });
    const { items } = await client.channels.list();
    assert.deepEqual(
      items.map(({ id, url, paused }) => [id, url, paused]),
      [
        ['a', body.url, true],
        ['b', body.url, true],
      ],
    );
    assert.equal(nameIn(items[0]?.putBy), 'operate of default');
    assert.doesNotMatch(JSON.stringify(items), /whsec|nonce|k1/);
    await assert.rejects(client.channels.put('c', body), refusedWith('over-quota', 429));
    for (const url of [
      ...['http://example.com/', 'https://127.0.0.1/', 'https://[::1]/', 'https://10.0.0.1/'],
      ...['https://169.254.169.254/', 'https://u:p@example.com/', 'file:///etc/passwd', 'x'],
    ]) {
      await assert.rejects(
        client.channels.put('a', { ...body, url }),
        refusedWith('invalid-input', 400),
        url,
      );
    }
    const none = { ...body, events: [] };
    await assert.rejects(client.channels.put('a', none), refusedWith('invalid-input', 400));
    const other = await coordinator.client(['operate'], 'other');
    assert.deepEqual((await other.channels.list()).items, []);
    for (const reach of [
      () => other.channels.read('a'),
      () => other.channels.secret('a'),
      () => other.channels.rotate('a'),
      () => other.channels.test('a'),
      () => other.channels.deliveries('a'),
      () => other.channels.replay('a'),
    ]) {
      await assert.rejects(reach(), refusedWith('channel-unknown', 404));
    }
    assert.equal((await other.channels.remove('a')).kind, 'no-change');
    const reader = await coordinator.client(['submit'], 'default');
    await assert.rejects(reader.channels.list(), refusedWith('role-missing', 403));
    assert.equal((await client.channels.remove('a')).kind, 'done');
    assert.equal((await client.channels.remove('a')).kind, 'no-change');
  },
};

const off: Case = {
  name: 'without keys for channels, none can be created',
  async run(coordinator) {
    const client = await coordinator.client(['operate'], 'default');
    const put = client.channels.put('a', webhook('https://receiver.invalid/'));
    await assert.rejects(put, refusedWith('channels-off', 404));
    assert.deepEqual((await client.channels.list()).items, []);
  },
};

const alerts: Case = {
  name: 'CH-14, CH-15: alerts are raised and cleared once, however many coordinators check them',
  given: { channels: { ...given.channels, alertsEveryMs: 1_000 } },
  async run(coordinator) {
    await using receiver = await WebhookReceiver.open();
    await using _another = await openServer({
      ...{ port: 0, store: coordinator.store },
      channels: { ...given.channels, alertsEveryMs: 1_000 },
    });
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const limits = { deadLetters: 2, noWorkersMs: 1_000 };
    const body = webhook(receiver.url, ['alert-raised', 'alert-cleared']);
    await client.channels.put('alerts', { ...body, alerts: limits });
    const found = await client.channels.read('alerts');
    assert.deepEqual(found.alerts, { ...limits, windowMs: 900_000 });
    receiver.secrets = [(await client.channels.secret('alerts')).secret];
    for (let nth = 0; nth < 2; nth += 1) await client.executions.submit({ pipeline: 'fails' });
    const alertOf = (type: string, rule: string) =>
      until(async () =>
        receiver.received.find((each) => each.type === type && each.data['rule'] === rule),
      );
    const raised = await alertOf('alert-raised', 'no-workers');
    await coordinator.worker([fails]);
    const cleared = await alertOf('alert-cleared', 'no-workers');
    assert.deepEqual(
      [raised.data['pipeline'], raised.data['threshold'], cleared.data['incident']],
      ['fails', 1_000, raised.data['incident']],
    );
    assert.ok(Number(raised.data['value']) >= 1_000);
    const failed = await alertOf('alert-raised', 'dead-letter-rate');
    assert.deepEqual([failed.data['pipeline'], failed.data['value']], ['fails', 2]);
    const { items } = await client.channels.deliveries('alerts');
    const events = items.map(({ event, data }) => [event, Object(data)['rule']].join(' '));
    assert.deepEqual(events.toSorted(), [
      'alert-cleared no-workers',
      'alert-raised dead-letter-rate',
      'alert-raised no-workers',
    ]);
    const useless = { ...webhook(receiver.url), alerts: limits };
    await assert.rejects(client.channels.put('x', useless), refusedWith('invalid-input', 400));
  },
};

const asks = pipeline({
  name: 'asks-bank',
  async run(ctx) {
    const answer = await ctx.await<{ readonly paid: boolean }>('payment', {
      correlation: `payment ${ctx.id}`,
    });
    return answer.kind === 'answered' ? [answer.value, answer.actor] : answer.kind;
  },
});

const answers: Case = {
  name: 'CH-16, CH-17: a signed answer finds its question by execution key and name; forged and old ones do not',
  given,
  async run(coordinator) {
    const client = await coordinator.client(['operate', 'submit'], 'default');
    const body = webhook('https://receiver.invalid/', ['question-opened']);
    const allowing = { ...body, paused: true, answers: true };
    const local = { ...allowing, url: 'http://127.0.0.1:9/' };
    await client.channels.put('bank', local);
    await client.channels.put('silent', { ...local, answers: false });
    const { secret } = await client.channels.secret('bank');
    const place = { type: 'answer', execution: 'key:order-17', name: 'payment' };
    const at = { project: 'default', channel: 'bank' };
    const stranger = new HoldfastClient({ url: coordinator.url });
    const send = (
      value: unknown,
      more: Partial<Parameters<typeof signedAnswer>[1]> = {},
      to = at,
    ) =>
      stranger.channels.answer(to, signedAnswer(secret, { content: { ...place, value }, ...more }));
    await assert.rejects(send({ paid: true }), refusedWith('execution-unknown', 404));
    const { id } = await client.executions.submit({ pipeline: 'asks-bank', key: 'order-17' });
    const refused = refusedWith('answer-not-signed', 403);
    const silent = await client.channels.secret('silent');
    const forged = signedAnswer(secret, { content: { ...place, value: { paid: true } } });
    for (const [to, message] of [
      [at, { ...forged, payload: forged.payload.replace('true', 'false') }],
      [at, { ...forged, id: 'other' }],
      [at, { ...forged, signature: 'v1,AAAA v2,BBBB x' }],
      [at, signedAnswer(silent.secret, { content: place })],
      [at, signedAnswer(secret, { content: place, ageS: 400 })],
      [at, signedAnswer(secret, { content: place, ageS: -400 })],
      [{ ...at, channel: 'silent' }, signedAnswer(silent.secret, { content: place })],
      [{ ...at, channel: 'none' }, forged],
      [{ ...at, project: 'other' }, forged],
    ] as const) {
      await assert.rejects(stranger.channels.answer(to, message), refused);
    }
    // A message that the channel itself sent is signed with the same secret, and is no answer.
    const reflected = { content: { type: 'question-answered', data: place } };
    await assert.rejects(send(1, reflected), refusedWith('invalid-input', 400));
    await coordinator.worker([asks]);
    await until(async () => (await client.awaits.list({ execution: id })).items[0]);
    assert.equal((await send({ paid: true })).kind, 'answered');
    assert.equal((await send({ paid: true })).kind, 'existing');
    const interaction = `correlation:payment ${id}`;
    const byCorrelation = { content: { type: 'answer', interaction, value: { paid: true } } };
    assert.equal((await send(1, byCorrelation)).kind, 'existing');
    const { output } = await client.executions.result(id);
    assert.deepEqual(output, [{ paid: true }, 'channel bank']);
    await assert.rejects(send({ paid: false }), (fault: { readonly code?: string }) =>
      ['answer-late', 'answer-conflict'].includes(fault.code ?? ''),
    );
    const rotated = await client.channels.rotate('bank', { overlapMs: 0 });
    await assert.rejects(send({ paid: true }), refused);
    const again = signedAnswer(rotated.secret, { content: { ...place, value: { paid: true } } });
    assert.equal((await stranger.channels.answer(at, again)).kind, 'existing');
  },
};

export const channelCases: readonly Case[] = [
  answers,
  alerts,
  delivers,
  repairs,
  rotates,
  refuses,
  off,
];
