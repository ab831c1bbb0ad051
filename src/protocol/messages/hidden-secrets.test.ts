import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pushSettingsOf } from '../push/push-options.ts';
import { signingKeys } from '../sqs/sqs-options.ts';

const SECRET = 'SUPERSECRET-0123456789-0123456789-0123456789';
/** Not a valid key id, because of the "!". */
const ODD = `${SECRET}!`;

const asKeys: Readonly<Record<string, unknown>> = {
  'those of push': { k1: SECRET },
  'a list': [SECRET],
  text: SECRET,
  'a list of lists': { k1: [SECRET] },
  'another name': { k1: { secrets: SECRET } },
  'a secret for a name': { k1: { [SECRET]: 'secret' } },
  'id and secret swapped': { [SECRET]: { secret: 'k1' } },
  'id and odd secret swapped': { [ODD]: { secret: SECRET } },
  'a secret for an id': { [SECRET]: 'k1' },
  'a secret for a queue': { k1: { secret: SECRET, replyQueues: SECRET } },
  'keys for a project': { k1: { secret: SECRET, project: { SECRET } } },
};

for (const [name, keys] of Object.entries(asKeys)) {
  test(`M-13: queue keys that are ${name} are refused, and not shown`, () => {
    assert.throws(() => signingKeys(keys as never), hidesSecret(/^openServer: sqs\.keys/));
  });
}

const asSigning: Readonly<Record<string, unknown>> = {
  'those of queues': { keys: { k1: { secret: SECRET } }, current: 'k1' },
  text: SECRET,
  'a list': [SECRET],
  'bare keys': { k1: SECRET },
  'a secret for a name': { [SECRET]: 'k1' },
  'a list of keys': { keys: [SECRET], current: '0' },
  'text for keys': { keys: SECRET, current: '0' },
  'a secret that is current': { keys: { k1: SECRET }, current: SECRET },
  'id and secret swapped': { keys: { [SECRET]: 'k1' }, current: 'k1' },
  'id and odd secret swapped': { keys: { [ODD]: 'k1' }, current: 'k1' },
};

const PUSH = { endpoints: [], allow: { hosts: ['shop.example'] } };

for (const [name, signing] of Object.entries(asSigning)) {
  test(`M-13: endpoint keys that are ${name} are refused, and not shown`, () => {
    const push = { ...PUSH, signing } as never;
    assert.throws(() => pushSettingsOf(push), hidesSecret(/^openServer: push\.signing/));
  });
}

test('M-15: a refused URL is not shown, since it may contain keys and passwords', () => {
  const signing = { keys: { k1: SECRET }, current: 'k1' };
  for (const endpoint of [
    { url: `https//u:${SECRET}@shop.example/`, pipelines: ['order'] },
    { url: [`https://shop.example/?code=${SECRET}`], pipelines: ['order'] },
    `https://shop.example/?code=${SECRET}`,
  ]) {
    const push = { ...PUSH, signing, endpoints: [endpoint] } as never;
    assert.throws(() => pushSettingsOf(push), hidesSecret(/^openServer: push\.endpoints/));
  }
});

function hidesSecret(begins: RegExp): (error: Error) => boolean {
  return ({ message }) => {
    assert.match(message, begins);
    assert.doesNotMatch(message, /SUPERSECRET/i);
    return true;
  };
}
