import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ExecutionId } from '../../execution/names.ts';
import {
  fromDeadLetter,
  fromItemResult,
  fromRefusedItem,
  toItemResult,
  toJobItem,
} from './rows.ts';

const id = 'x' as ExecutionId;

test('Y-23: rows keep the word `moved` for a repinned item, and are read by the new one', () => {
  const answer = { kind: 'repinned', id, release: 'v2' } as const;
  const row = fromItemResult(answer);
  assert.deepEqual([row.outcome, JSON.parse(row.answer).kind], ['moved', 'moved']);
  assert.deepEqual(toItemResult(row.answer), answer);
  assert.equal(toJobItem({ ...row, target: id, at: 1 }).outcome, 'repinned');
});

test('Y-23: rows keep the first words for refused repins, and are read by the new ones', () => {
  const answer = { kind: 'refused', why: 'repin-while-running', id } as const;
  const row = fromItemResult(answer);
  assert.deepEqual(
    [row.outcome, JSON.parse(row.answer).why],
    ['move-while-running', 'move-while-running'],
  );
  assert.deepEqual(toItemResult(row.answer), answer);
  assert.deepEqual(fromRefusedItem('repin-breaks'), {
    outcome: 'move-breaks',
    answer: '{"kind":"refused","why":"move-breaks"}',
  });
});

test('Y-23: rows keep the word `passed-on` for a forwarded operation, and are read by the new one', () => {
  const answer = { kind: 'forwarded', status: 'running' } as const;
  const row = fromItemResult(answer);
  assert.deepEqual([row.outcome, JSON.parse(row.answer).kind], ['passed-on', 'passed-on']);
  assert.deepEqual(toItemResult(row.answer), answer);
  assert.equal(toJobItem({ ...row, target: id, at: 1 }).outcome, 'forwarded');
});

test('P-18: a dead letter keeps the first 4,096 bytes of its reason', () => {
  const about = { category: 'permanent', code: 'x', attempts: 1 } as const;
  const { reason } = fromDeadLetter({ ...about, reason: 'é'.repeat(4_096) });
  assert.equal(reason, `${'é'.repeat(2_046)}…`);
  assert.equal(fromDeadLetter({ ...about, reason: 'the bank is down' }).reason, 'the bank is down');
});
