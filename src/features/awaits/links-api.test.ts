import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import type { InteractionId, ProjectName } from '../../execution/names.ts';
import { toInstant } from '../../support/clock.ts';
import { AnswerLinks, type LinkOptions } from './links-api.ts';

const SECRET = 'a secret that must never be shown';
const CLAIMS = {
  interaction: 'i' as InteractionId,
  project: 'p' as ProjectName,
  exp: toInstant(1_000),
};

test('a token returns its signed claims until it expires', () => {
  const links = new AnswerLinks({ keys: { k: SECRET }, current: 'k' });
  const token = links.sign(CLAIMS);
  assert.deepEqual(links.verify(token, 999), {
    kind: 'verified',
    claims: { ...CLAIMS, kid: 'k' },
  });
  assert.deepEqual(links.verify(token, 1_000), {
    kind: 'refused',
    refusal: { why: 'link-expired', at: 1_000 },
  });
});

test('keys are rotated by adding one, signing with it, and removing the old one', () => {
  const before = new AnswerLinks({ keys: { old: SECRET }, current: 'old' }).sign(CLAIMS);
  const other = Buffer.alloc(32, 7);
  const during = new AnswerLinks({ keys: { old: SECRET, new: other }, current: 'new' });
  assert.equal(during.verify(before, 0).kind, 'verified');
  assert.equal(during.verify(during.sign(CLAIMS), 0).kind, 'verified');
  const after = new AnswerLinks({ keys: { new: other }, current: 'new' });
  assert.deepEqual(after.verify(before, 0), {
    kind: 'refused',
    refusal: { why: 'link-invalid' },
  });
  const reused = new AnswerLinks({ keys: { old: other }, current: 'old' });
  assert.equal(reused.verify(before, 0).kind, 'refused');
});

test('an invalid token is refused, whatever its form', () => {
  const links = new AnswerLinks({ keys: { k: SECRET }, current: 'k' });
  const unsigned = Buffer.from(JSON.stringify({ ...CLAIMS, kid: 'k' })).toString('base64url');
  const inherited = Buffer.from(JSON.stringify({ ...CLAIMS, kid: 'constructor' }));
  const tokens = [
    ...[undefined, null, 7, {}, '', '.', 'x.y', unsigned, `${unsigned}.`, 'é.é'],
    `${inherited.toString('base64url')}.AAAA`,
    `${Buffer.from('null').toString('base64url')}.AAAA`,
    'x'.repeat(5_000),
  ];
  for (const token of tokens) {
    assert.equal(links.verify(token, 0).kind, 'refused', String(token));
  }
});

test('secrets are long enough, and are not shown', () => {
  const bad: readonly unknown[] = [
    { keys: { k: 'short' }, current: 'k' },
    { keys: { k: 7 }, current: 'k' },
    { keys: { k: SECRET }, current: 'other' },
    { keys: {}, current: 'k' },
    { keys: { k: SECRET }, current: 'k', extra: 1 },
    { current: 'k' },
    undefined,
  ];
  for (const options of bad) {
    assert.throws(() => new AnswerLinks(options as LinkOptions), {
      name: 'InvalidInput',
      message: /^(?!.*(?:nobody should|short)).*$/,
    });
  }
  const links = new AnswerLinks({ keys: { k: SECRET }, current: 'k' });
  const shown = `${inspect(links, { depth: 9, showHidden: true })}${JSON.stringify(links)}`;
  assert.equal(shown.includes('must never'), false);
});
