// holdfast releases: the command refuses wrong arguments before it sends a request. The tests also
// check its output.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { holdfast, type Ran } from './spawned.ts';

const asked: string[] = [];
let answer: unknown;
let server: Server;
let url = '';

before(async () => {
  server = createServer(async (request, response) => {
    asked.push(`${request.method} ${request.url} ${await text(request)}`);
    const body = request.url === '/v1/caller' ? { project: 'default' } : answer;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(() => server.close());

async function ask(words: string, body: unknown = {}): Promise<Ran> {
  asked.length = 0;
  answer = body;
  return holdfast(['releases', ...words.split(' ')], { env: { HOLDFAST_URL: url } });
}

const WRONG: readonly (readonly [typed: string, expected: RegExp])[] = [
  ['activate order v6 --percent 10', /--percent belongs to "set-canary", not to "activate"/],
  ['promote order --artifact x', /--artifact belongs to "register", not to "promote"/],
  ['list order --force', /--force belongs to "activate", .*"repin", not to "list"/],
  ['rollouts extra', /Unexpected argument "extra"\. Usage: holdfast releases rollouts/],
  ['promote order v2', /Unexpected argument "v2"\. Usage: holdfast releases promote <pipeline>/],
  [
    'activate order',
    /<release> is required\. Usage: holdfast releases activate <pipeline> <release> .*\n$/,
  ],
  ['set-canary order v2', /--percent is required/],
  ['set-canary order v2 --percent 130', /0 to 99; got "130".*holdfast releases activate order v2/],
  ['preflight order v2 --sample 0', /--sample must be at least 1; got "0"/],
  ['activate order v5/ü', /name of a release must have only letters, digits and \. _ \+ : -/],
];

for (const [typed, expected] of WRONG) {
  test(`holdfast releases ${typed}: refused, without a request`, async () => {
    const ran = await ask(typed);
    assert.equal(ran.code, 2, ran.out);
    assert.match(ran.problems, expected);
    assert.doesNotMatch(ran.problems, /roll-back/);
    assert.deepEqual(asked, []);
  });
}

const DIGEST = `sha256:${'7d41'.repeat(16)}`;

test('holdfast releases: tables fit a screen, and programs get all fields', async () => {
  const item = { name: 'v1', state: 'active', pinned: 0, artifact: 'image', digest: DIGEST };
  const items = [{ ...item, contractVersion: 'ab12'.repeat(16) }];
  const shown = await ask('list order', { items });
  assert.match(shown.out, /image +sha256:7d417d417d41… +ab12ab12ab12…\n$/);
  assert.equal(JSON.parse((await ask('list order --json', { items })).out).digest, DIGEST);
  const log = { items: [{ version: 2, action: 'set-canary', name: 'v2', after: { percent: 5 } }] };
  assert.match((await ask('log order', log)).out, /2 +set-canary +v2/);
  assert.match((await ask('log order --json', log)).out, /"action":"set-canary"/);
});

test('holdfast releases: an empty list is explained in a sentence', async () => {
  const none = { items: [] };
  assert.match((await ask('rollouts', none)).problems, /No pipeline has releases yet/);
  assert.match((await ask('list order', none)).problems, /Pipeline "order" has no releases yet/);
  assert.match((await ask('log order', none)).problems, /No operator has changed .*"order"/);
  const rollout = await ask('rollout nope', { version: 0 });
  assert.match(rollout.problems, /Pipeline "nope" has no rollout: .*not pinned/);
  assert.equal((await ask('rollouts --json', none)).out, '');
  assert.equal((await ask('rollout nope --json', { version: 0 })).out, '{"version":0}\n');
});
