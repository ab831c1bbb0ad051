// npm run exhaust [-- --count 10000 --megabytes 1024 --plant large-bodies]
//
// Idle workers, streams, a huge body and deep JSON against one coordinator on loopback. Its memory
// must stay bounded, each refusal must have a code, and afterwards it must serve as before.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { HoldfastClient } from '../../src/client/client.ts';
import { PRESENT_BUILD } from '../server/build.ts';
import { ownEnvironment } from '../server/deployment.ts';
import { freePort } from '../services/free-port.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    megabytes: { type: 'string', default: '1024' },
    plant: { type: 'string' },
  },
});
const [count, megabytes] = [Number(values.count), Number(values.megabytes)];

/** The growth of memory that is bounded: per open connection, and for the bodies. */
const PER_CONNECTION_KB = 64;
const BODIES_MB = 256;
/** A coordinator accepts 5,000 connections of one address. */
const PER_ADDRESS = 2_500;
const AT_ONCE = 100;
/** Connections above the limit, which must be refused. */
const ABOVE = 100;
const DEPTH = 200_000;
const WAIT_MS = 60_000;
const LAST_REPLY_MS = 30_000;
const MB = 1024 * 1024;
const WITHOUT_CODE = 'a refusal without a code';

interface Outcome {
  readonly name: string;
  readonly accepted: number;
  /** How often each refusal came. */
  readonly refused: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
  readonly grownMb: number;
  readonly boundMb: number;
}

const folder = await mkdtemp(join(tmpdir(), 'hf-exhaust-'));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const coordinator = await startCoordinator();
const outcomes: Outcome[] = [];
try {
  outcomes.push(await measured(`${count} idle workers`, connectionsBound(), idleWorkers));
  outcomes.push(await measured(`${count} streams`, connectionsBound(), streams));
  outcomes.push(await measured(`a body of ${megabytes} MB`, BODIES_MB, () => hugeBody('sized')));
  outcomes.push(
    await measured(`a body of ${megabytes} MB in chunks`, BODIES_MB, () => hugeBody('chunked')),
  );
  outcomes.push(await measured(`JSON with a depth of ${DEPTH}`, BODIES_MB, deepJson));
} finally {
  coordinator.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
}
console.log('| Load | Accepted | Refused | Memory |\n|---|---:|---|---:|');
for (const { name, accepted, refused, grownMb, boundMb } of outcomes) {
  const refusals = Object.entries(refused).map(([code, times]) => `${times} × ${code}`);
  console.log(
    `| ${name} | ${accepted} | ${refusals.join(', ') || '–'} | +${grownMb.toFixed(0)} MB of ${boundMb.toFixed(0)} |`,
  );
}
const problems = outcomes.flatMap(({ name, problems, grownMb, boundMb }) => [
  ...problems.map((problem) => `${name}: ${problem}`),
  ...(grownMb > boundMb ? [`${name}: the memory grew by ${grownMb.toFixed(0)} MB.`] : []),
]);
for (const problem of problems) console.log(`✖ ${problem}`);
console.log(problems.length === 0 ? 'Memory stayed bounded.' : `${problems.length} problems.`);
process.exit(problems.length === 0 ? 0 : 1);

async function startCoordinator(): Promise<ChildProcess> {
  const words = ['serve', '--auth', 'off', '--port', String(port), '--log-requests', 'false'];
  const limit = ['--limits-open-max', String(count)];
  // A planted bug: the coordinator keeps whole bodies of this size in memory.
  if (values.plant === 'large-bodies') limit.push('--limits-body-bytes-max', String(1024 * MB));
  const child = spawn(
    process.execPath,
    [PRESENT_BUILD.cli, ...words, ...limit, '--store', join(folder, 'hf.db')],
    { stdio: ['ignore', 'pipe', 'inherit'], env: ownEnvironment() },
  );
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  child.stdout.resume();
  assert.equal(child.exitCode, null, 'The coordinator did not start.');
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

function connectionsBound(): number {
  return BODIES_MB + (count * PER_CONNECTION_KB) / 1024;
}

type Load = () => Promise<Pick<Outcome, 'accepted' | 'refused' | 'problems'>>;

/** Looks at the memory while the load lasts, and asks for a read afterwards. */
async function measured(name: string, boundMb: number, load: Load): Promise<Outcome> {
  const before = await rssMb();
  let most = before;
  let isOver = false;
  const polling = (async () => {
    while (!isOver) {
      most = Math.max(most, await rssMb());
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  const found = await load();
  isOver = true;
  await polling;
  const client = new HoldfastClient({ url, timeoutMs: LAST_REPLY_MS });
  const problems = await client.executions.list({ limit: 1 }).then(
    () => found.problems,
    (error: Error) => [...found.problems, `No read afterwards: ${error.message}`],
  );
  return { name, ...found, problems, grownMb: most - before, boundMb };
}

async function rssMb(): Promise<number> {
  const [, pages] = (await readFile(`/proc/${coordinator.pid}/statm`, 'utf8')).split(' ');
  return (Number(pages) * 4_096) / MB;
}

/** Loopback has many addresses, and each may open a part of the connections. */
function addressOf(nth: number): string {
  return `127.0.0.${2 + Math.floor(nth / PER_ADDRESS)}`;
}

/** One session and one waiting claim for each worker. */
async function idleWorkers(): ReturnType<Load> {
  const refused: Record<string, number> = {};
  const waiting: { readonly socket: Socket; readonly replied: Promise<string> }[] = [];
  await inTurns(async (nth) => {
    const id = randomUUID();
    const session = { id, owner: `idle-${nth}`, ttlMs: 600_000, graceMs: 1_000 };
    const opened = await exchange(nth, '/v1/work/sessions', session);
    const code = codeIn(opened.text);
    if (code !== undefined) refused[code] = (refused[code] ?? 0) + 1;
    opened.socket.destroy();
    const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(nth) });
    const shares = [{ lane: 'interactive', limit: 1 }];
    const claim = { session: id, pipelines: ['any'], shares, waitMs: WAIT_MS };
    socket.write(requestText('/v1/work/claims', claim));
    waiting.push({ socket, replied: textFrom(socket) });
  });
  // A refused claim gets its reply at once, and a read gets its own after all of them.
  await new HoldfastClient({ url, timeoutMs: WAIT_MS }).executions.list({ limit: 1 });
  const states = await Promise.all(
    waiting.map(({ replied }) => Promise.race([replied, Promise.resolve('waits')])),
  );
  // The first ones may have waited for their whole time already, and got an empty reply.
  const isServed = (state: string): boolean =>
    state === 'waits' || state.startsWith('HTTP/1.1 200');
  const accepted = states.filter(isServed).length;
  for (const state of states.filter((each) => !isServed(each))) {
    const code = codeIn(state) ?? WITHOUT_CODE;
    refused[code] = (refused[code] ?? 0) + 1;
  }
  for (const { socket } of waiting) socket.destroy();
  return { accepted, refused, problems: aboveLimit(refused) };
}

/** One stream for each worker; those above the limit are refused. */
async function streams(): ReturnType<Load> {
  const refused: Record<string, number> = {};
  const open: Socket[] = [];
  await inTurns(async (nth) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(nth) });
    open.push(socket);
    const key = Buffer.from(randomUUID().slice(0, 16)).toString('base64');
    socket.write(
      `GET /v1/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
    );
    const text = await textFrom(socket);
    if (text.startsWith('HTTP/1.1 101')) return;
    const code = codeIn(text) ?? WITHOUT_CODE;
    refused[code] = (refused[code] ?? 0) + 1;
  });
  for (const socket of open) socket.destroy();
  const without = Object.values(refused).reduce((sum, times) => sum + times, 0);
  return { accepted: count + ABOVE - without, refused, problems: aboveLimit(refused) };
}

function aboveLimit(refused: Outcome['refused']): readonly string[] {
  const times = Object.values(refused).reduce((sum, each) => sum + each, 0);
  return [
    ...(WITHOUT_CODE in refused ? ['A refusal had no code.'] : []),
    ...(times < ABOVE ? [`${times} of ${ABOVE} above the limit were refused.`] : []),
  ];
}

/** Sends as long as the coordinator reads. */
async function hugeBody(how: 'sized' | 'chunked'): ReturnType<Load> {
  const bytes = megabytes * MB;
  const sized = how === 'sized' ? { 'content-length': bytes } : {};
  const headers = { 'content-type': 'application/json', ...sized };
  const sending = request(`${url}/v1/executions`, { method: 'POST', headers });
  const replied = new Promise<string>((resolve) => {
    sending.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('close', () => resolve(text));
    });
    sending.once('error', (error) => resolve(`connection closed: ${error.message}`));
  });
  let isOver = false;
  const over = replied.then(() => {
    isOver = true;
  });
  const block = Buffer.alloc(MB, ' ');
  let sent = 0;
  for (; sent < megabytes && !isOver; sent += 1) {
    if (!sending.write(block)) await Promise.race([once(sending, 'drain'), over]);
  }
  if (!isOver) sending.end();
  const text = await replied;
  sending.destroy();
  const code = codeIn(text);
  const problems = code === undefined ? [`The refusal has no code: ${text.slice(0, 200)}`] : [];
  return { accepted: 0, refused: { [`${code} after ${sent} MB`]: 1 }, problems };
}

async function deepJson(): ReturnType<Load> {
  const refused: Record<string, number> = {};
  const problems: string[] = [];
  const deep = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
  for (const body of [`{"pipeline":"any","input":${deep}}`, deep, '{"a":'.repeat(DEPTH)]) {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${url}/v1/executions`, { method: 'POST', headers, body });
    const code = codeIn(await reply.text());
    if (reply.status >= 500 || code === undefined) problems.push(`status ${reply.status}`);
    refused[`${code}`] = (refused[`${code}`] ?? 0) + 1;
  }
  return { accepted: 0, refused, problems };
}

async function inTurns(one: (nth: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count + ABOVE) await one(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

async function exchange(
  nth: number,
  path: string,
  body: object,
): Promise<{ readonly socket: Socket; readonly text: string }> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: addressOf(nth) });
  socket.write(requestText(path, body));
  return { socket, text: await textFrom(socket) };
}

function requestText(path: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** The first packet, which holds a whole short response; empty if the connection ends before. */
async function textFrom(socket: Socket): Promise<string> {
  socket.on('error', () => undefined);
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(data.toString()));
    socket.once('close', () => resolve(''));
  });
}

function codeIn(text: string): string | undefined {
  return /"code":"([a-z-]+)"/.exec(text)?.[1];
}
