// Processes that each hold their own key through every outage of the store, and the rules for the
// answers they got.

import assert from 'node:assert/strict';
import { parseLeaseKey } from '../../src/index.ts';
import type { LeaseInspection } from '../../src/lease/port.ts';
import type { HolderReport, SteadfastApi } from './children/steadfast.ts';
import type { Stage } from './stage/stage.ts';
import { until } from './stage/until.ts';

/** A holder and everything it has reported, in order. */
export interface Holder {
  readonly key: string;
  readonly fence: number;
  readonly reports: HolderReport[];
}

export async function hold(stage: Stage, key: string, ttlMs: number): Promise<Holder> {
  const child = stage.start<SteadfastApi>('children/steadfast.ts');
  const reports: HolderReport[] = [];
  child.on('report', (detail) => reports.push(detail as HolderReport));
  const fence = await child.call('hold', { store: stage.address, key, ttlMs });
  return { key, fence, reports };
}

/** Waits until every holder has got "saved" that many more times, or one has lost its lease. */
export async function allSaved(holders: readonly Holder[], times: number): Promise<void> {
  const goals = holders.map((holder) => savesOf(holder).length + times);
  await until('every holder has saved again', () => {
    const lost = holders.flatMap(({ reports }) => reports.filter(({ kind }) => kind === 'lost'));
    assert.deepEqual(lost, []);
    return holders.every((holder, index) => savesOf(holder).length >= (goals[index] ?? 0));
  }).catch((error: Error) => {
    const last = holders.map(({ key, reports }) => `${key}: ${JSON.stringify(reports.slice(-3))}`);
    throw new Error(`${error.message}; told last: ${last.join('; ')}`, { cause: error });
  });
}

export async function assertNothingLost(stage: Stage, holders: readonly Holder[]): Promise<void> {
  for (const holder of holders) {
    const saves = savesOf(holder);
    const acknowledged = saves.at(-1)?.number ?? 0;
    assert.deepEqual(
      saves.map(({ number }) => number),
      Array.from({ length: saves.length }, (_, index) => index + 1),
      'every checkpoint was answered once, in order',
    );
    const { record, state } = await inspect(stage, holder.key);
    assert.deepEqual([state, record?.fence], ['held', holder.fence], 'the same term goes on');
    const stored = Number(Buffer.from(record?.checkpoint?.bytes ?? []).toString());
    assert.ok(stored >= acknowledged, `${stored} is stored, ${acknowledged} was acknowledged`);
    const fences = grantsOf(holder);
    assert.deepEqual(fences, [...new Set(fences)].sort(numerically), 'T-3: fences rise');
  }
  const all = holders.flatMap(grantsOf);
  assert.equal(new Set(all).size, all.length, 'T-3: no fence was issued twice');
}

function savesOf({ reports }: Holder) {
  return reports.filter((one) => one.kind === 'saved');
}

function grantsOf({ reports }: Holder): readonly number[] {
  return reports.filter((one) => one.kind === 'granted').map(({ fence }) => fence);
}

export function newestGrant(holders: readonly Holder[]): number {
  return Math.max(0, ...holders.flatMap(grantsOf));
}

function numerically(a: number, b: number): number {
  return a - b;
}

export function inspect(stage: Stage, key: string): Promise<LeaseInspection> {
  return stage.store.leases.inspect(parseLeaseKey(key));
}
