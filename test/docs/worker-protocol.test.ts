// The page on the worker protocol has every message with its address, fields and valid examples.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { EVENT_KINDS } from '../../src/execution/history.ts';
import { LEASE_MESSAGES } from '../../src/features/leases/messages.ts';
import { interactionId } from '../../src/index.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { submission, writeMessage } from '../../src/protocol/messages/work.ts';
import { WORK_KINDS, workMessage } from '../../src/protocol/messages/work-messages.ts';
import { BODY_CHARS_MAX, INLINE_CHARS_MAX } from '../../src/protocol/rest/work-content.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/reference/worker-protocol.md'), 'utf8');
const LEASE_PAGE = readFileSync(join(ROOT, 'docs/reference/lease-protocol.md'), 'utf8');

/** The text below a heading, up to the next one of any level. */
function sectionOf(heading: string, page = PAGE): string {
  const [, after] = page.split(`\n${heading}\n`);
  assert.ok(after !== undefined, `The page has no section "${heading}".`);
  return after.split(/^#{2,3} /m)[0] ?? '';
}

function examplesIn(text: string): readonly unknown[] {
  return [...text.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json = '']) => JSON.parse(json));
}

/** The names in the first cells of the tables. */
function fieldsIn(text: string): readonly string[] {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
}

function requireValid(what: string, schema: TSchema, value: unknown): void {
  const [problem] = Value.Errors(schema, value);
  assert.equal(problem, undefined, `${what}: ${JSON.stringify(problem)}`);
}

test('every message has its address, its fields, and examples that its schemas accept', () => {
  for (const kind of WORK_KINDS) {
    const { method, path, body, reply } = workMessage(kind);
    const text = sectionOf(`### ${kind}`, kind in LEASE_MESSAGES ? LEASE_PAGE : PAGE);
    const address = `\`${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}\``;
    assert.ok(text.includes(address), `${kind} has no ${address}`);
    const [first = ''] = text.split('```json');
    assert.deepEqual([...fieldsIn(first)].sort(), Object.keys(body.properties).sort(), kind);
    const [request, replied] = examplesIn(text);
    requireValid(`the request of ${kind}`, body, request);
    if (reply !== undefined) requireValid(`the reply to ${kind}`, reply, replied);
  }
});

test('the table of the execution has every field of its schema', () => {
  const text = sectionOf('### claimExecutions').split('| Field of `execution`')[1] ?? '';
  const { properties } = workMessage('readStoredExecution').reply as unknown as Closed;
  assert.deepEqual([...fieldsIn(text)].sort(), Object.keys(properties).sort());
});

test('the tables of writes have every field of every verb', () => {
  const text = sectionOf('## Writes');
  const verbs = (writeMessage as unknown as { readonly anyOf: readonly Closed[] }).anyOf;
  for (const { properties } of verbs) {
    for (const name of Object.keys(properties)) {
      assert.ok(text.includes(`\`${name}\``), `The section on writes does not name ${name}.`);
    }
  }
});

interface Closed {
  readonly properties: Readonly<Record<string, TSchema>>;
}

test('the page names every event and the bounds of writes', () => {
  const text = sectionOf('## Events');
  for (const kind of EVENT_KINDS) assert.ok(text.includes(`\`${kind}\``), kind);
  const bounds = sectionOf('## Writes');
  for (const bound of [INLINE_CHARS_MAX, BODY_CHARS_MAX]) {
    assert.ok(bounds.includes(bound.toLocaleString('en')), String(bound));
  }
  assert.match(PAGE, new RegExp(`version is not ${WORK_VERSION}`));
});

test('the bodies of events in the table are JSON objects', () => {
  const rows = sectionOf('## Events').matchAll(/^\| `[\w-]+`(?:, `[\w-]+`)* \| `(\{.*?\})`/gm);
  const bodies = [...rows].map(([, body = '']) => body.replaceAll('…}', 'null}'));
  assert.ok(bodies.length > 15);
  for (const body of bodies) {
    const filled = body.replaceAll('{null}', '{}').replaceAll(':…', ':null');
    assert.equal(typeof JSON.parse(filled), 'object', body);
  }
});

test('the question and the child of the page are valid, and the id of the question follows', () => {
  const [question] = examplesIn(sectionOf('### Ask a question')) as readonly Asked[];
  const execution = '01890a5d-ac96-774b-bcce-b302099a8057';
  assert.equal(question?.items[0]?.id, interactionId({ execution, name: 'approval' }));
  const write = { verb: 'record', id: execution, fence: 1, session: execution, seq: 1, events: [] };
  requireValid('the question', writeMessage, { ...write, awaits: [question] });
  const [child] = examplesIn(sectionOf('### Start children'));
  requireValid('the child', submission, child);
});

interface Asked {
  readonly items: readonly { readonly id: string }[];
}
