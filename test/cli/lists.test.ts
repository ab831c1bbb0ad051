// Commands that print tables over pages, and commands that send one request: their requests and
// their output, against a coordinator with prepared replies.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { holdfast, type Ran } from './spawned.ts';

interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly key: string | undefined;
  readonly project: string | string[] | undefined;
  readonly body: string;
}

const asked: Asked[] = [];
let answers: readonly { readonly status: number; readonly body: unknown }[] = [];
let server: Server;
let url = '';

async function noted(request: IncomingMessage): Promise<Asked> {
  const { method, url: path, headers } = request;
  const { authorization: key, 'holdfast-project': project } = headers;
  return { method, url: path, key, project, body: await text(request) };
}

before(async () => {
  server = createServer(async (request, response) => {
    asked.push(await noted(request));
    const [next, ...rest] = answers;
    answers = rest;
    response.writeHead(next?.status ?? 500, { 'content-type': 'application/json' });
    response.end(typeof next?.body === 'string' ? next.body : JSON.stringify(next?.body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(() => server.close());

/** Runs the command, and returns its output and its requests. */
async function ask(
  words: readonly string[],
  ...bodies: readonly unknown[]
): Promise<Ran & { readonly requests: readonly Asked[] }> {
  asked.length = 0;
  answers = bodies.map((body) => ({ status: 200, body }));
  const ran = await holdfast(words, { env: { HOLDFAST_URL: url } });
  return { ...ran, requests: [...asked] };
}

test('list takes the filters of a saved view, which other flags replace', async () => {
  const view = { id: 'late', page: 'executions', query: 'status=waiting&status=queued&sort=ended' };
  const words = ['list', '--view', 'late', '--sort', 'oldest'];
  const listed = await ask(words, { items: [view] }, { items: [{ id: 'e1' }] });
  assert.match(listed.out, /^id\ne1\n$/);
  assert.deepEqual(
    listed.requests.map((each) => each.url),
    [
      '/v1/views?page=executions&limit=1000',
      '/v1/executions?status=waiting&status=queued&sort=oldest',
    ],
  );
  const missing = await ask(['list', '--view', 'lte'], { items: [view] });
  assert.match(missing.problems, /view.*"lte".*late/s);
  assert.deepEqual([missing.requests.length, missing.code], [1, 2]);
});

test('dead-letters, schedules, workers, leases and answer print tables without empty columns', async () => {
  const letter = { execution: 'e1', pipeline: 'order', status: 'failed', code: 'x', at: 't' };
  const letters = await ask(['dead-letters', '--code', 'x'], { items: [letter] });
  assert.equal(letters.requests[0]?.url, '/v1/dead-letters?code=x');
  assert.match(letters.out, /^execution +pipeline +status +code +at\ne1 +order +failed +x +t\n$/);

  const when = { every: 1000 };
  const schedules = await ask(['schedules'], {
    items: [{ id: 's', when, target: { pipeline: 'order' }, nextTimes: ['t1', 't2'] }],
  });
  assert.match(schedules.out, /^id +when +target +nextTimes\ns +every 1000 ms +order +t1\n$/);

  const workers = await ask(['workers'], { items: [{ id: 'w', owner: 'o', pipelines: ['a'] }] });
  assert.match(workers.out, /^id +owner +pipelines\nw +o +a\n$/);

  const leases = await ask(['leases', '--prefix', 'a/'], { items: [{ key: 'a/b', fence: 7 }] });
  assert.equal(leases.requests[0]?.url, '/v1/leases?prefix=a%2F');
  assert.match(leases.out, /^key +fence\na\/b +7\n$/);

  const open = {
    id: 'i',
    execution: 'e',
    unit: { name: 'approval', dueAt: 't' },
    request: { a: 1 },
  };
  const awaits = await ask(['answer', '--assignee', 'ann'], { items: [open] });
  assert.equal(awaits.requests[0]?.url, '/v1/awaits?assignee=ann');
  assert.match(awaits.out, /^id +name +execution +dueAt +request\ni +approval +e +t +\{"a":1\}\n$/);
});

test('lists print one page and how to get the next, all pages, or lines for programs', async () => {
  const first = { items: [{ key: 'a' }], cursor: 'a' };
  const one = await ask(['leases', '--limit', '1'], first, { items: [{ key: 'b' }] });
  assert.match(one.problems, /There are more\. Pass --cursor a, or --all/);
  const full = await ask(['leases', '--limit', '1'], first, { items: [] });
  assert.deepEqual([full.code, full.problems], [0, ''], 'a page that is exactly full is no more');
  assert.equal(full.requests[1]?.url, '/v1/leases?limit=1&cursor=a');
  const ended = await ask(['leases', '--all'], first, { items: [] });
  assert.deepEqual([ended.problems, ended.out], ['', 'key\na\n']);
  assert.equal((await ask(['leases'], { items: [] })).problems, 'None.\n');
  const all = await ask(['leases', '--all', '--json'], first, { items: [{ key: 'b' }] });
  assert.deepEqual(
    all.requests.map(({ url: path }) => path),
    ['/v1/leases', '/v1/leases?cursor=a'],
  );
  assert.deepEqual([all.out, all.problems], ['{"key":"a"}\n{"key":"b"}\n', '']);
});

test('top prints the figures by pipeline, capped counts with a plus', async () => {
  const count = (number: number, capped = false) => ({ count: number, capped });
  const overview = {
    at: '2026-11-17T09:30:00.000Z',
    pipelines: [
      {
        pipeline: 'order',
        statuses: { running: count(3), completed: count(10_000, true), queued: count(8) },
        blocked: count(8),
        ready: count(10_000, true),
        oldestReadyAt: '2026-11-17T09:28:30.000Z',
        workers: 2,
      },
    ],
    deadLetters: {
      ...{ ...count(2), quarantined: count(1), lastHour: count(2) },
      causes: [
        {
          count: 2,
          lastHour: 2,
          code: 'no-stock',
          pipeline: 'order',
          step: 'row-*',
          message: 'None.',
        },
      ],
    },
    questions: { open: count(4), overdue: count(1) },
    workers: {
      ...{ ready: 2, draining: 0, stuck: 1, refused: 0 },
      ...{ lapsed: 0, left: 0, running: 3, room: 5 },
    },
  };
  const ended = { completed: 57, failed: 3, cancelled: 0, quarantined: 0, compensated: 0 };
  const duration = { p50Ms: 40, p95Ms: 1_600, p99Ms: 90_000 };
  const trends = {
    from: '2026-11-17T09:00:00.000Z',
    to: '2026-11-17T09:30:00.000Z',
    pipelines: [{ pipeline: 'order', ended, duration }],
  };
  const shown = await ask(['top', '--once', '--range', '30m'], overview, trends);
  assert.deepEqual(shown.requests.map(({ url: path }) => path).sort(), [
    '/v1/overview',
    '/v1/trends?rangeMs=1800000',
  ]);
  const lines = shown.out.split('\n');
  assert.equal(lines[0], '2026-11-17T09:30:00.000Z  2 workers, 3 running, room for 5');
  assert.match(
    shown.out,
    /1 workers are stuck\.\n8 blocked executions: holdfast list --hold blocked\n4 open questions, 1 overdue\.\n2 dead letters, 2 in the last hour, 1 quarantined, 1 causes:\n/,
  );
  assert.match(shown.out, / 2 {2}no-stock {2}order row-\* {2}None\./);
  assert.match(
    shown.out,
    /order +10,000\+ +2 min +3 +0 +8 +60 +2\.0 +5\.0 % +40 ms +1\.6 s +2 min +2\n$/,
  );
  const json = await ask(['top', '--json'], overview, trends);
  assert.deepEqual(JSON.parse(json.out), { overview, trends });
});

test('answer and redrive send the typed arguments', async () => {
  const answered = await ask(['answer', 'a/b', '{"accepted":true}'], {
    kind: 'answered',
    settled: true,
  });
  assert.deepEqual(
    [answered.requests[0]?.method, answered.requests[0]?.url, answered.requests[0]?.body],
    ['POST', '/v1/awaits/a%2Fb/answer', '{"value":{"accepted":true}}'],
  );
  assert.equal(answered.out, 'Answered. The execution continues with it\n');
  const redriven = await ask(['redrive', 'e1', '--from', 'charge', '--reason', 'why'], {
    id: 'e2',
  });
  assert.equal(redriven.requests[0]?.url, '/v1/executions/e1/redrive');
  assert.deepEqual(JSON.parse(redriven.requests[0]?.body ?? ''), { from: 'charge', reason: 'why' });
  assert.match(redriven.out, /^e2 submitted; it repeats e1 from step charge$/m);
  const edited = await ask(['redrive', 'e1', '--input', '{"amount":5}'], { id: 'e2' });
  assert.deepEqual(JSON.parse(edited.requests[0]?.body ?? ''), { input: { amount: 5 } });
  assert.match(
    edited.out,
    /^e2 submitted; it continues at the failed step of e1, with the given input$/m,
  );
  const mode = await ask(['redrive', 'e1', '--mode', 'sideways']);
  assert.equal(mode.code, 2);
  assert.deepEqual(mode.requests, []);
});

test('answer lists questions that wait for a slot, with their key', async () => {
  const unit = { name: 'sign', concurrency: { key: 'bank', limit: 2 } };
  const waiting = { id: 'i', execution: 'e', status: 'queued', unit, request: { a: 1 } };
  const listed = await ask(['answer', '--queued', '--name', 'sign'], { items: [waiting] });
  assert.equal(listed.requests[0]?.url, '/v1/awaits?queued=true&name=sign');
  assert.match(listed.out, /^id +name +execution +key\ni +sign +e +bank\n$/);
});

test('answer sends one answer to several questions, and fails if one of them refuses it', async () => {
  const [one, two] = ['0198b7a0-0000-7000-8000-000000000001', 'correlation:pay/17'];
  const words = ['answer', one, two, '{"ok":true}'];
  const stored = { kind: 'answered', settled: true };
  const both = await ask(words, { items: [stored, stored] });
  assert.deepEqual(
    both.requests.map(({ method, url: path, body }) => [method, path, JSON.parse(body)]),
    [['POST', '/v1/awaits/answers', { ids: [one, two], value: { ok: true } }]],
  );
  assert.deepEqual([both.code, both.out], [0, `${one}: answered\n${two}: answered\n`]);
  const refused = { kind: 'refused', code: 'answer-late', detail: 'It has timed out.' };
  const half = await ask(words, { items: [stored, refused] });
  assert.deepEqual([half.code, half.out], [1, `${one}: answered\n${two}: It has timed out.\n`]);
  const json = await ask([...words, '--json'], { items: [stored, refused] });
  assert.deepEqual([json.code, JSON.parse(json.out)], [1, { items: [stored, refused] }]);
  const named = await ask(['answer', 'e1', 'sign', '7'], stored);
  assert.equal(named.requests[0]?.url, '/v1/executions/e1/awaits/sign/answer');
});

test('published, query and update fail for a value that the coordinator cannot read', async () => {
  const sealed = { sealed: true };
  const cases: readonly (readonly [readonly string[], object, unknown])[] = [
    [['published', 'e1', 'total'], {}, 7],
    [['query', 'e1', 'total'], {}, null],
    [['update', 'e1', 'add', '1'], { kind: 'replied', key: 'k' }, { n: 1 }],
  ];
  for (const [words, more, value] of cases) {
    const failed = await ask(words, { ...more, ...sealed });
    assert.deepEqual([failed.code, failed.out], [1, ''], words[0]);
    assert.match(failed.problems, /encrypted, or was erased\. If holdfast get e1 shows/);
    const json = await ask([...words, '--json'], { ...more, ...sealed });
    assert.deepEqual([json.code, JSON.parse(json.out)], [1, { ...more, ...sealed }]);
    const read = await ask(words, { ...more, value });
    assert.deepEqual([read.code, JSON.parse(read.out)], [0, value]);
  }
});

test('the key and the project come from the environment or a flag', async () => {
  answers = [
    { status: 200, body: { items: [] } },
    { status: 200, body: { items: [] } },
  ];
  asked.length = 0;
  const env = { HOLDFAST_URL: url, HOLDFAST_KEY: 'hf_env', HOLDFAST_PROJECT: 'p' };
  await holdfast(['list'], { env });
  await holdfast(['list', '--access-key', 'hf_flag', '--project', 'q'], { env });
  assert.deepEqual(
    asked.map(({ key, project }) => [key, project]),
    [
      ['Bearer hf_env', 'p'],
      ['Bearer hf_flag', 'q'],
    ],
  );
});

test('a response that is not a coordinator’s exits with 2; a problem is printed with its own text', async () => {
  const page = await ask(['list'], '<html>');
  assert.equal(page.code, 2);
  assert.match(page.problems, /returned status 200 and a body that no coordinator sends/);
  for (const [status, code] of [
    [401, 2],
    [403, 2],
    [404, 1],
    [409, 1],
    [503, 2],
  ]) {
    answers = [{ status: status ?? 0, body: { status, code: 'c', detail: 'It is so.' } }];
    const ran = await holdfast(['list', '--json'], { env: { HOLDFAST_URL: url } });
    assert.deepEqual([ran.code, ran.problems], [code, 'It is so. [c]\n']);
    assert.deepEqual(JSON.parse(ran.out), { kind: 'failed', code: 'c', problem: 'It is so.' });
  }
});
