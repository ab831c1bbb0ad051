// A singleton job under `lease run`, ended in every way: never two at once, and taken over in time.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { until } from '../processes/stage/until.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { sample } from '../services/tier.ts';
import { holdfast, inFolder, type Ran, type Spawned, startHoldfast } from './spawned.ts';

export interface RunPlace {
  /** The flags that name the store or the coordinator. */
  readonly flags: readonly string[];
  /** The same place over a network that the test can cut, if there is one. */
  readonly cuttable?: {
    readonly flags: readonly string[];
    cut(): void;
    restore(): void;
  };
  end(): Promise<void>;
}

const JOB = join(import.meta.dirname, 'children/ledger.ts');
const KEY = 'nightly/report';
/** Long enough that a busy machine runs each process before its lease ends. */
const TTL_MS = 10_000;
/** How many faults `npm test` takes. */
const IN_ONE_RUN = 3;
/** SIGTERM, as a shell reports a program that it ended. */
const ENDED_BY_SIGTERM = 143;
const ENDED_BY_SIGKILL = 137;
const LOST = 122;

interface Fault {
  readonly name: string;
  inflict(): Promise<void> | void;
  /** The successor starts at once, and the program lives until the runner's next heartbeat. */
  readonly overlaps?: true;
  /** The exit code of the runner; null if the fault kills it. */
  readonly code: number | null;
  /** Wakes what the fault froze, once the successor runs. */
  afterwards?(): void;
}

interface Runner {
  readonly spawned: Spawned;
  readonly fence: number;
  readonly watchdog: number;
  readonly program: number;
}

export function registerLeaseRun(name: string, open: () => Promise<RunPlace>): void {
  let opened: Promise<RunPlace> | undefined;
  const place = (): Promise<RunPlace> => {
    opened ??= open();
    return opened;
  };
  after(async () => (await opened)?.end());

  test(`${name}: a job under lease run never runs twice at once, however it is ended`, () =>
    inFolder(async (folder, own) => {
      const { flags, cuttable } = await place();
      const overlapping = new Set<number>();
      let count = 0;
      const start = (at = flags): Spawned => {
        count += 1;
        const owner = `runner-${count}`;
        return own(
          startHoldfast([
            ...['lease', 'run', KEY, ...at, '--wait', '--ttl', `${TTL_MS}ms`, '--owner', owner],
            ...['--', process.execPath, JOB, folder],
          ]),
        );
      };
      let running = await leading(folder, start(), 0);
      const faults = faultsAt(flags, cuttable !== undefined);
      for (const faultOf of sample(`ends of lease run, ${name}`, faults, IN_ONE_RUN)) {
        const fault = faultOf(running, cuttable);
        const standby = start(
          fault.name.startsWith('network') ? flags : nextFlags(cuttable, flags),
        );
        await waitsInQueue(flags);
        if (fault.overlaps) overlapping.add(running.fence);
        const startedAt = performance.now();
        await fault.inflict();
        const next = await leading(folder, standby, running.fence);
        const tookMs = performance.now() - startedAt;
        assert.ok(tookMs < recoveryBoundMs(TTL_MS), `${fault.name}: taken over after ${tookMs} ms`);
        fault.afterwards?.();
        const { code } = await running.spawned.ended();
        assert.equal(code, fault.code, `${fault.name}: ${running.spawned.problems}`);
        running = next;
      }
      cuttable?.restore();
      const { code } = await running.spawned.stop();
      assert.equal(code, ENDED_BY_SIGTERM);
      const isSingle = (fence: number): boolean => !overlapping.has(fence);
      assertInOrder(fencesOf(join(folder, 'guarded')));
      assertInOrder(fencesOf(join(folder, 'plain')).filter(isSingle));
      const refused = fencesOf(join(folder, 'refused')).filter(isSingle);
      assert.deepEqual(refused, [], 'the guard had nothing to refuse');
    }));
}

/** Runners that the network faults hit use the cuttable address. */
function nextFlags(cuttable: RunPlace['cuttable'], flags: readonly string[]): readonly string[] {
  return cuttable?.flags ?? flags;
}

type FaultOf = (running: Runner, cuttable: RunPlace['cuttable']) => Fault;

function faultsAt(flags: readonly string[], hasNetwork: boolean): readonly FaultOf[] {
  const operate = async (...words: readonly string[]): Promise<void> => {
    const ran = await holdfast(['lease', ...words, KEY, '--reason', 'test', ...flags]);
    assert.equal(ran.code, 0, ran.problems);
  };
  const always: readonly FaultOf[] = [
    ({ spawned }) => ({
      ...{ name: 'SIGKILL of the runner', code: null },
      inflict: () => void spawned.child.kill('SIGKILL'),
    }),
    ({ spawned }) => ({
      ...{ name: 'SIGSTOP of the runner', code: LOST },
      inflict: () => void spawned.child.kill('SIGSTOP'),
      afterwards: () => void spawned.child.kill('SIGCONT'),
    }),
    ({ spawned }) => ({
      ...{ name: 'SIGTERM of the runner', code: ENDED_BY_SIGTERM },
      inflict: () => void spawned.child.kill('SIGTERM'),
    }),
    ({ watchdog }) => ({
      ...{ name: 'SIGKILL of the watchdog', code: LOST },
      inflict: () => void process.kill(watchdog, 'SIGKILL'),
    }),
    ({ watchdog }) => ({
      ...{ name: 'SIGSTOP of the watchdog and a revoke', code: LOST, overlaps: true },
      async inflict() {
        process.kill(watchdog, 'SIGSTOP');
        await operate('revoke');
      },
    }),
    ({ program }) => ({
      ...{ name: 'SIGKILL of the program', code: ENDED_BY_SIGKILL },
      inflict: () => void process.kill(program, 'SIGKILL'),
    }),
    () => ({ name: 'a drain', code: 123, inflict: () => operate('drain') }),
  ];
  if (!hasNetwork) return always;
  return [
    ...always,
    (_, cuttable) => ({ name: 'network cut', code: LOST, inflict: () => cuttable?.cut() }),
  ];
}

/** Waits until this runner's program writes, under a fence above the last one. */
async function leading(folder: string, spawned: Spawned, last: number): Promise<Runner> {
  let fence = 0;
  await until(`a program runs with a fence above ${last}`, () => {
    assert.equal(spawned.child.exitCode, null, spawned.problems);
    fence = fencesOf(join(folder, 'guarded')).at(-1) ?? 0;
    return fence > last && (fencesOf(join(folder, 'plain')).at(-1) ?? 0) === fence;
  });
  const pids = JSON.parse(readFileSync(join(folder, `pids-${fence}`), 'utf8'));
  return { spawned, fence, ...pids };
}

async function waitsInQueue(flags: readonly string[]): Promise<void> {
  await until('the standby waits', async () => {
    const shown: Ran = await holdfast(['lease', 'show', KEY, '--json', ...flags]);
    return JSON.parse(shown.out).waiting === 1;
  });
}

function fencesOf(ledger: string): readonly number[] {
  if (!existsSync(ledger)) return [];
  return readFileSync(ledger, 'utf8').split('\n').filter(Boolean).map(Number);
}

function assertInOrder(fences: readonly number[]): void {
  const late = fences.findIndex((fence, at) => fence < (fences[at - 1] ?? 0));
  assert.equal(late, -1, `line ${late + 1} was written by a replaced holder`);
}
