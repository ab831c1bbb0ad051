// Bugs that the simulator must find. Each changes one place of one source file, in a process that only
// runs seeds: no product code can turn one on. Most are the mutants of the statements: each guard of
// SQLite's statements is left out once, and the contract case that finds it names its rules. The others
// are in the code around the stores.

import { allowedSurvivors } from '../mutation/examine.ts';
import { listMutants } from '../mutation/mutants.ts';
import { readKillers } from '../mutation/verdict.ts';

export interface PlantedBug {
  readonly id: string;
  /** The rules that it breaks. */
  readonly rules: string;
  readonly file: string;
  /** Occurs once in the file, or is the whole line of that number. */
  readonly before: string;
  readonly line?: number;
  readonly after: string;
  /** The test that finds it: a case of the contract, if it is a guard. Absent: no such case. */
  readonly test?: string;
  /** Why no seed can find it. Hunts leave it out. */
  readonly unreached?: string;
  /** Why few seeds find it. */
  readonly needs?: string;
}

/** Guards that no seed can find, and the reasons. */
const UNREACHED: Readonly<Record<string, string>> = {
  'executions/candidates.ts:project':
    'only the order in which a claim tries its pipelines depends on it; the next statement checks the project again',
  'sql/awaits.ts:own':
    'the id of an interaction follows from the id of its execution, so no worker sends the id of another',
  'sql/awaits.ts:room': 'no execution gets more than 20 late answers',
};

/** Tests of guards that only concurrent calls can miss, in `src/store/sqlite/at-once.test.ts`. */
const AT_ONCE: Readonly<Record<string, string>> = {
  'sql/leases/events.ts:ahead': 'a fence that a raised epoch has overtaken halts nothing',
  'sql/leases/sweep.ts:ended': 'a session that another call has ended does not end again',
};

/** The state in which a missing guard shows. Few seeds reach it. */
const NEEDS: Readonly<Record<string, string>> = {
  'sql/remove.ts:children': 'a parent that ended before its child, at the moment of the request',
  'sql/leases/sweep.ts:extended':
    'sessions that the breaker held back, overdue again while others trip it',
};

const LEASE = 'src/lease';

const BY_HAND: readonly PlantedBug[] = [
  {
    id: 'authority counts from the reply',
    rules: 'C-3, P2',
    file: `${LEASE}/heartbeat-loop.ts`,
    before: 'const authority = new Authority(clock, { sentAt, grantedMs }, caution);',
    after:
      'const authority = new Authority(clock, { sentAt: momentOf(clock), grantedMs }, caution);',
    test: 'C-6: a late answer counts from when it was sent',
    needs: 'a late reply to the last heartbeat, and a successor that acts within the difference',
  },
  {
    id: 'authority ignores the wall clock',
    rules: 'C-4, P2',
    file: `${LEASE}/authority.ts`,
    before: 'return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);',
    after: 'return now.monotonicMs - since.monotonicMs;',
  },
  {
    id: 'authority lasts beyond the grant',
    rules: 'G-1, P2',
    file: `${LEASE}/authority.ts`,
    before: 'this.#usableMs = (grant.grantedMs * (1 - rho)) / (1 + rho) - caution.guardMs;',
    after: 'this.#usableMs = grant.grantedMs * (2 - rho);',
  },
  {
    id: 'a heartbeat does not look at notices',
    rules: 'V-1, P2',
    file: `${LEASE}/heartbeat-loop.ts`,
    before:
      'if (result.notices !== this.#core.notices && !(await this.#reconcile(result.notices))) return;',
    after: '',
  },
  {
    id: 'a fence is minted twice',
    rules: 'T-2, T-3',
    file: 'src/store/sqlite/executions/take-claims.ts',
    before: 'set fence = fence + :count',
    after: 'set fence = fence + :count - 1',
  },
  {
    id: 'a child that ended does not wake its parent',
    rules: 'X-16, X-69, P5',
    file: 'src/store/sqlite/executions/end-execution.ts',
    before: 'wake_after = wake_after - (status = 2 and wake_after > 0)',
    after: 'wake_after = wake_after',
  },
  {
    id: 'a message does not wake',
    rules: 'X-16, P5',
    file: 'src/execution/decide/deliver.ts',
    before: "if (kind !== 'child-ended') return wake(execution, now);",
    after: "if (kind !== 'child-ended') return execution;",
  },
  {
    id: 'compensations run in the order of the steps',
    rules: 'Y-4',
    file: 'src/engine/run/compensations.ts',
    before: 'for (const step of steps.toReversed()) {',
    after: 'for (const step of steps) {',
  },
  {
    id: 'a killer is never quarantined',
    rules: 'X-57',
    file: 'src/engine/worker/drive.ts',
    before: 'claimed.execution.claimsWithoutProgress >= this.#config.maxClaimsWithoutProgress',
    after: 'claimed.execution.claimsWithoutProgress >= 1_000_000',
  },
  {
    id: 'a claim whose commit is unknown is forgotten',
    rules: 'X-25',
    file: 'src/store/sqlite/executions/orphaned-claims.ts',
    before:
      'if (fault instanceof OutcomeUnknown && last !== undefined) this.#suspect(session, last);',
    after: '',
  },
  {
    id: 'a remote worker forgets a claim whose reply was lost',
    rules: 'X-27, M-2',
    file: 'src/worker/delivered-claims.ts',
    before: 'this.#suspectUntilMs = this.#clock.monotonicMs() + SUSPECT_MS;',
    after: '',
    test: 'a claim whose answer was lost is returned with the next one, once',
    needs: 'a lost reply with claims, on a transport that never doubles messages',
  },
  {
    id: 'a claim is delivered twice',
    rules: 'X-25, M-1',
    file: 'src/worker/delivered-claims.ts',
    before: '({ fence }) => !this.#held.has(fence) && !this.#removed.has(fence)',
    after: '() => true',
  },
  {
    id: 'a successor skips its rate key',
    rules: 'X-66, X-70',
    file: 'src/execution/decide/submit.ts',
    before: 'gated: keyed.rate !== undefined, hasSlot: true',
    after: 'gated: false, hasSlot: true',
  },
  {
    id: 'a recorded cancel at the head of history is not delivered',
    rules: 'X-17, P5',
    file: 'src/engine/run/settling.ts',
    before: 'if (this.isReplaying) this.comeToRest();',
    after: '',
  },
  {
    id: 'a handle outlives a newer term of its own session',
    rules: 'V-3, P2',
    file: `${LEASE}/session-core.ts`,
    before: "if (older !== undefined && older.fence < newer.fence) older.withdraw('lost', AGAIN);",
    after: '',
  },
  {
    id: 'a worker acts although its park may have happened',
    rules: 'X-15, P2',
    file: 'src/engine/run/journal.ts',
    before:
      "return this.#phase === 'closed' || (this.isWriting && this.#writing === this.#leaving);",
    after: 'return false;',
  },
  {
    id: 'sessions that a claim finds overdue are not swept',
    rules: 'P4',
    file: 'src/engine/worker/duties.ts',
    before: 'if (!isOverdue || (this.#underWay === undefined && this.dueInMs > 0)) return false;',
    after: 'return false;',
  },
];

/** Every guard of SQLite's statements for leases and executions, left out. */
function guards(): readonly PlantedBug[] {
  const killers = readKillers();
  const survivors = allowedSurvivors();
  return listMutants('sqlite')
    .filter(({ id, contract }) => contract !== 'access' && !id.includes('<'))
    .map(({ id, file, line, before, text }): PlantedBug => {
      const name = id.slice('sqlite/'.length);
      const [rules = 'none', ...words] = killers[id]?.split(': ') ?? [];
      const test = words.length > 0 ? words.join(': ') : AT_ONCE[name];
      const unreached = survivors[id] ?? UNREACHED[name];
      return {
        ...{ id: `without guard ${name}`, rules, file: `src/store/${file}` },
        ...{ line, before, after: text, ...(test !== undefined && { test }) },
        ...(unreached !== undefined && { unreached }),
        ...(NEEDS[name] !== undefined && { needs: NEEDS[name] }),
      };
    });
}

export const PLANTED_BUGS: readonly PlantedBug[] = [...BY_HAND, ...guards()];

export function plantedBug(id: string): PlantedBug {
  const found = PLANTED_BUGS.find((bug) => bug.id === id);
  if (found === undefined) throw new Error(`There is no planted bug "${id}".`);
  return found;
}
