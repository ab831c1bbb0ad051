import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { HoldfastClient } from '../../client/client.ts';
import { systemTimers } from '../../support/timer.ts';
import { httpTransport } from '../../worker/http-transport.ts';
import { fetchFrom } from './connection.ts';

/** Receives the whole request, then cuts the connection without a response. */
const cutBefore: RequestListener = (request) => {
  request.resume().once('end', () => request.socket.destroy());
};

/** Cuts the connection in the middle of the response. */
const cutWithin: RequestListener = (request, response) => {
  request.resume().once('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    response.write('{"id":', () => request.socket.destroy());
  });
};

async function withServer(
  listener: RequestListener,
  perform: (url: string) => Promise<void>,
): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await perform(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function closedUrl(): Promise<string> {
  let closed = '';
  await withServer(cutBefore, async (url) => {
    closed = url;
  });
  return closed;
}

const CLIENTS = [
  {
    name: 'the client',
    open: (url: string) => new HoldfastClient({ url }),
    unreachable: 'store-unavailable',
  },
  {
    name: 'the command line',
    open: (url: string) => new HoldfastClient({ url, fetch: fetchFrom(url) }),
    unreachable: 'coordinator-unreachable',
  },
];
const ORDER = { pipeline: 'order', input: 1 };

for (const { name, open, unreachable } of CLIENTS) {
  for (const [when, listener] of Object.entries({ before: cutBefore, within: cutWithin })) {
    test(`${name}: a write has an unknown outcome if the connection breaks ${when} the response`, () =>
      withServer(listener, async (url) => {
        const client = open(url);
        await assert.rejects(client.executions.submit(ORDER), {
          name: 'OutcomeUnknown',
          code: 'outcome-unknown',
          message: /may or may not have had its effect/,
        });
        await assert.rejects(client.bytes('/v1/executions', { method: 'POST', body: ORDER }), {
          code: 'outcome-unknown',
        });
      }));

    test(`${name}: a read may be repeated if the connection breaks ${when} the response`, () =>
      withServer(listener, async (url) => {
        const client = open(url);
        const code = /^(store-unavailable|coordinator-unreachable)$/;
        await assert.rejects(client.executions.list(), { code });
      }));
  }

  test(`${name}: a write that could not be sent did nothing`, async () => {
    const client = open(await closedUrl());
    await assert.rejects(client.executions.submit(ORDER), {
      code: unreachable,
      message: /ECONNREFUSED\)\. Nothing was (done|written)\./,
    });
  });
}

test('a worker’s write has an unknown outcome if the connection breaks before the response', () =>
  withServer(cutBefore, async (url) => {
    const transport = httpTransport({ url, timers: systemTimers });
    await assert.rejects(transport.request({ kind: 'heartbeat', body: {} }), {
      code: 'outcome-unknown',
    });
  }));
