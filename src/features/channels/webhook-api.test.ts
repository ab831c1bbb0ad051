import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../support/clock.ts';
import { type PostReply, post } from '../../support/post.ts';
import type { Allowed } from '../../support/safe-address.ts';
import { systemTimers } from '../../support/timer.ts';
import { Turns } from '../../support/turns.ts';
import type { Channel, DeliveryRecord } from './model.ts';
import { channelSender } from './sender-api.ts';
import { channelSettingsOf } from './signing-api.ts';

const LOCAL: Allowed = { hosts: ['*'], privateAddresses: true, http: true, setting: 'push.allow' };
const PUBLIC: Allowed = { ...LOCAL, privateAddresses: false, setting: 'channels.allow' };

async function withServer(work: (port: number) => Promise<void>): Promise<void> {
  const server = createServer((_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await work((server.address() as AddressInfo).port);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('CH-10: a connection that other rules allowed is not used for an address that these rules refuse', () =>
  withServer(async (port) => {
    const send = (allowed: Allowed): Promise<PostReply> =>
      post({
        ...{ url: new URL(`http://localhost:${port}/`), text: '{}', headers: {}, allowed },
        ...{ timeoutMs: 10_000, bytesMax: 1_000, timers: systemTimers },
        ...{ signal: new AbortController().signal, room: () => Promise.resolve() },
      });
    assert.equal((await send(LOCAL)).kind, 'replied');
    const refused = await send(PUBLIC);
    assert.equal(refused.kind, 'unsent');
    assert.match(JSON.stringify(refused), /a private address, which must not be called/);
    assert.equal((await send(LOCAL)).kind, 'replied');
  }));

test('CH-11: while the name of one project is looked up, those of others are too, and its other names wait', () =>
  withServer(async (port) => {
    const lookups = new Turns(1);
    const keys = { k: 'channel secret '.repeat(3) };
    const settings = channelSettingsOf({
      ...{ signing: { keys, current: 'k' }, timeoutMs: 60_000 },
      allow: { privateAddresses: true, http: true },
    });
    const clock = systemClock;
    const send = channelSender({ ...settings, clock, timers: systemTimers, lookups });
    const sent = (project: string) => {
      const secret = settings.secrets.next();
      const channel = {
        project,
        kind: 'webhook',
        url: `http://localhost:${port}/`,
        secret,
      } as Channel;
      const delivery = { id: 'm', event: 'test', at: 0, data: {} } as unknown as DeliveryRecord;
      return send(channel, delivery, new AbortController().signal);
    };
    const { promise: found, resolve: end } = Promise.withResolvers<void>();
    const silent = lookups.take('slow', () => found);
    let isSent = false;
    const waiting = sent('slow').finally(() => {
      isSent = true;
    });
    assert.equal((await sent('other')).status, 200);
    assert.equal(isSent, false);
    end();
    await silent;
    assert.equal((await waiting).status, 200);
  }));
