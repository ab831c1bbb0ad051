// Reads are compressed for clients that accept it, streams and writes never.

import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { TestCoordinator } from './coordinator.ts';

/** Without the decompression of `fetch`. */
function get(url: string, headers: Record<string, string>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, resolve).on('error', reject).end();
  });
}

test('a list is sent as br or gzip if the client accepts it, and its tag still matches', async () => {
  await using coordinator = await TestCoordinator.open({});
  const key = await coordinator.key(['submit', 'operate'], 'default');
  const client = await coordinator.client(['submit', 'operate'], 'default');
  for (let nth = 0; nth < 20; nth += 1) {
    await client.executions.submit({ pipeline: 'order', input: nth });
  }
  const authorization = `Bearer ${key}`;
  const url = `${coordinator.url}/v1/executions`;
  const plain = await get(url, { authorization });
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.match(String(plain.headers.vary), /accept-encoding/);
  const text = (await buffer(plain)).toString();
  for (const [encoding, opened] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const response = await get(url, { authorization, 'accept-encoding': encoding });
    assert.equal(response.headers['content-encoding'], encoding);
    const bytes = await buffer(response);
    assert(bytes.length < text.length / 2, `${bytes.length} of ${text.length} bytes`);
    assert.equal(opened(bytes).toString(), text);
    const etag = String(response.headers.etag);
    const again = await get(url, { authorization, 'if-none-match': etag });
    again.resume();
    assert.equal(again.statusCode, 304, etag);
  }
  const small = await get(`${coordinator.url}/healthz`, { 'accept-encoding': 'br' });
  small.resume();
  assert.equal(small.headers['content-encoding'], undefined);
  const stream = await get(`${coordinator.url}/v1/events`, {
    ...{ authorization, 'accept-encoding': 'br, gzip' },
  });
  assert.equal(stream.headers['content-encoding'], undefined);
  stream.destroy();
});
