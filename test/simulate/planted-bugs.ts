// Bugs that the simulator must find. Each changes one place of one source file, in a process that only
// runs seeds: no product code can turn one on. Most are the mutants of the statements: each guard of
// SQLite's statements is left out once, and the contract case that finds it names its rules. The others
// are in the code around the stores.

import { allowedSurvivors } from '../mutation/examine.ts';
import { listMutants } from '../mutation/mutants.ts';
import { readKillers } from '../mutation/verdict.ts';
import { EXECUTION_BUGS } from './planted-executions.ts';
import { LEASE_BUGS } from './planted-leases.ts';

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
  'sql/leases/sweep.ts:remote': 'simulated coordinators start without openServer',
  'sql/leases/sweep.ts:together': 'simulated coordinators start without openServer',
};

/** Tests of guards that only concurrent calls can miss, in `src/store/sqlite/at-once.test.ts`. */
const AT_ONCE: Readonly<Record<string, string>> = {
  'sql/leases/events.ts:ahead': 'a fence that a raised epoch has overtaken halts nothing',
  'sql/leases/sweep.ts:ended': 'a session that another call has ended does not end again',
};

/** The state in which a missing guard shows. Few seeds reach it. */
const NEEDS: Readonly<Record<string, string>> = {
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
    file: 'src/store/sqlite/executions/claim.ts',
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
  {
    id: 'a pause does not hold',
    rules: 'X-18',
    file: 'src/execution/decide/command.ts',
    before: "const paused = { ...withHold(execution, 'paused'), seq: event.seq };",
    after: 'const paused = { ...execution, seq: event.seq };',
  },
  {
    id: 'a resume leaves the pause to the next owner',
    rules: 'X-75',
    file: 'src/execution/decide/command.ts',
    before: "if (!view.pauseRequested) return { kind: 'apply', execution: resumed, event };",
    after: "if (event.seq > 0) return { kind: 'apply', execution: resumed, event };",
  },
  {
    id: 'a signal is taken after the deadline',
    rules: 'X-19',
    file: 'src/execution/decide/command.ts',
    before: 'if (at !== undefined && at <= now) {',
    after: 'if (at !== undefined && at <= now - 60_000) {',
  },
  {
    id: 'an alert is cleared after one calm round',
    rules: 'CH-15',
    file: 'src/store/sql/access/alerts.ts',
    before: 'where channel = :uid::uuid\n     and calm >=',
    after: 'where channel = :uid::uuid\n     and calm + 1 >=',
  },
  {
    id: 'alerts are evaluated twice at once',
    rules: 'CH-14',
    file: 'src/store/sql/access/alerts.ts',
    before: 'and alerts_at <= hf_now() -- guard: alerts-due',
    after: '',
  },
  {
    id: 'only the first of several signals is given',
    rules: 'X-49',
    file: 'src/engine/run/inbox.ts',
    before: 'for (const message of this.#signals.splice(0)) this.#signal(message);',
    after: 'for (const message of this.#signals.splice(0).slice(0, 1)) this.#signal(message);',
  },
  {
    id: 'an answer wins after its time',
    rules: 'W-5, W-6',
    file: 'src/features/awaits/decide.ts',
    before: 'const change = timeOut(unit, view.answered(), now);',
    after:
      "const change = settle(unit, { status: 'answered', interactions: [{ ...interaction, status: 'answered', answer }], now });",
  },
  {
    id: 'a late answer does not settle its question',
    rules: 'W-12',
    file: 'src/features/awaits/decide.ts',
    before: 'return { ...late(interaction, answer, change.unit.status), change };',
    after: 'return late(interaction, answer, change.unit.status);',
  },
  {
    id: 'a wakeup forgets since when an execution is ready',
    rules: 'X-16',
    file: 'src/execution/decide/deliver.ts',
    before: 'return queuedAt(execution, readyAt === undefined || readyAt > now ? now : readyAt);',
    after: 'return queuedAt(execution, now);',
  },
  {
    id: 'a cancelled child does not report to its parent',
    rules: 'X-17, X-69',
    file: 'src/store/sqlite/executions/end-execution.ts',
    before:
      'if (row.parent_id !== null && successor === undefined) notifyParent(tx, row, outcome);',
    after:
      'if (row.parent_id !== null && successor === undefined && outcome !== CANCELLED_OUTCOME) notifyParent(tx, row, outcome);',
  },
  {
    id: 'a park forgets that steps are to be undone',
    rules: 'Y-7',
    file: 'src/store/sqlite/executions/park.ts',
    before: 'saga = case when saga = 2 then 2 else :saga end,',
    after: 'saga = :saga,',
  },
  {
    id: 'a give-back is ready at once',
    rules: 'X-15',
    file: 'src/store/sqlite/executions/give-back.ts',
    before: '.run(tx.now + delayMs, hold,',
    after: '.run(tx.now, hold,',
  },
  {
    id: 'a successor misses a message',
    rules: 'X-71',
    file: 'src/store/sql/successor.ts',
    before: 'and (i.n > :inboxSeen or',
    after: 'and (i.n > :inboxSeen + 1 or',
  },
  {
    id: 'a successor leaves its key behind',
    rules: 'X-70',
    file: 'src/store/sqlite/executions/end-execution.ts',
    before: 'key: key ?? null,',
    after: 'key: null,',
  },
  {
    id: 'a sleep ends early',
    rules: 'X-15',
    file: 'src/engine/run/calls/sleep.ts',
    before: "const due = 'until' in span ? span.until : run.storeNow() + span.ms;",
    after: "const due = 'until' in span ? span.until : run.storeNow() + span.ms / 2;",
  },
  {
    id: 'a loss after progress counts as one without',
    rules: 'X-53',
    file: 'src/store/sqlite/executions/claim.ts',
    before: 'row.fruitless = lastSeq === row.claimed_seq ? row.fruitless + 1 : 1;',
    after: 'row.fruitless += 1;',
  },
  {
    id: 'a re-drive repeats the last step',
    rules: 'Y-20',
    file: 'src/features/repair/decide.ts',
    before: 'const kept = withoutLoose(given.slice(0, cut));',
    after: 'const kept = withoutLoose(given.slice(0, Math.max(0, cut - 1)));',
  },
  {
    id: 'an older fence is current',
    rules: 'T-7',
    file: 'src/lease/decide/term.ts',
    before:
      "const held = requireHeld(view, request, now);\n  if (held.kind === 'refuse') return held;\n  const own",
    after:
      "const held = requireHeld(view, { ...request, fence: view.lease?.fence ?? request.fence }, now);\n  if (held.kind === 'refuse') return held;\n  const own",
  },
  {
    id: 'a deadline ends what has begun to undo its steps',
    rules: 'Y-2',
    file: 'src/store/sqlite/executions/give-back.ts',
    before: 'if (compensating) tx.run(FORGET_DEADLINE, { id });',
    after: '',
  },
  {
    id: 'a child runs although its parent was cancelled',
    rules: 'X-77',
    file: 'src/store/sql/maintain.ts',
    before:
      'const result = yield* runCommand(natives, { ...child, body: PARENT_ENDED }, decideCancel);',
    after: "const result = { kind: 'no-change', status: 'queued' } as const;",
  },
  {
    id: 'a paused schedule that changes gets a time',
    rules: 'X-33',
    file: 'src/store/sql/schedules.ts',
    before: 'set next_at = case when not paused then :nextAt::bigint end,',
    after: 'set next_at = :nextAt::bigint,',
  },
  {
    id: 'a repeated park counts messages that were read since',
    rules: 'X-5, P5',
    file: 'src/engine/run/claim-exit.ts',
    before: '          inboxSeen,\n          wakeAfter',
    after: '          inboxSeen: run.inbox.seen,\n          wakeAfter',
  },
  {
    id: 'a claim takes the newest first',
    rules: 'X-11',
    file: 'src/store/sqlite/executions/ready-rows.ts',
    before: 'order by ready_at, id',
    after: 'order by ready_at desc, id',
  },
  {
    id: 'a claim takes more of a lane than it asked for',
    rules: 'X-11',
    file: 'src/store/sqlite/executions/claim.ts',
    before: 'suspect?.row.lane === each.lane ? each.limit - 1 : each.limit;',
    after: 'each.limit + 1;',
  },
  {
    id: 'a project gets more than its part of a claim',
    rules: 'X-60',
    file: 'src/store/sqlite/executions/candidates.ts',
    before: 'const part = fairPart(limit, projects.length);',
    after: 'const part = limit;',
  },
  {
    id: 'a list by key leaves out re-drives',
    rules: 'X-22, Y-20',
    file: 'src/store/sql/list-leads.ts',
    before: '[{ statements: KEYS }, { statements: LINEAGE_KEYS }];',
    after: '[{ statements: KEYS }];',
  },
  {
    id: 'a claimed message is not hidden',
    rules: 'CH-3',
    file: 'src/store/sql/access/channels.ts',
    before: '         next_at  = hf_now() + :leaseMs::bigint',
    after: '         next_at  = next_at',
  },
  {
    id: 'an older claim of a message is recorded',
    rules: 'CH-4',
    file: 'src/store/sql/access/channels.ts',
    before: '     and attempts = :attempts -- guard: attempt',
    after: '',
  },
  {
    id: 'a message is delivered though its attempt failed',
    rules: 'CH-5',
    file: 'src/features/channels/model.ts',
    before: 'if (attempt.error === undefined) return',
    after: 'if (attempt.ms >= 0) return',
  },
  {
    id: 'an end is announced only if it completed',
    rules: 'CH-2',
    file: 'src/store/sqlite/migrate.ts',
    before: 'connection.execute(sql);',
    after:
      "connection.execute(sql.replace('when old.ended_at is null', 'when new.status = 10 and old.ended_at is null'));",
  },
  {
    id: 'a channel that must rest sends',
    rules: 'CH-6',
    file: 'src/store/sql/access/channels.ts',
    before: `   where c.uid = :uid::uuid\n     and \${CAN_SEND}\`);`,
    after: '   where c.uid = :uid::uuid`);',
  },
  {
    id: 'a failed message is due at once',
    rules: 'CH-5',
    file: 'src/store/sql/access/channels.ts',
    before: 'hf_now() + :nextInMs::bigint end,',
    after: 'hf_now() + 0 * :nextInMs::bigint end,',
  },
  {
    id: 'a release without a reply is forgotten',
    rules: 'U-1',
    file: `${LEASE}/session-core.ts`,
    before: 'if (isStoreOutage(result) || !isFinal(result)) this.disowned.addTerm(request);',
    after: 'if (!isStoreOutage(result) && !isFinal(result)) this.disowned.addTerm(request);',
    test: 'U-1: a release that finds the store away and the session lapsed is done when the store is back',
    needs:
      'a holder that goes on after its release got no reply; its session releases the key in the end',
  },
  {
    id: 'an end overtakes a cancel that came first',
    rules: 'X-101, X-74',
    file: 'src/engine/run/claim-exit.ts',
    before: "return settling.isAhead && status !== 'cancelled' ? inboxSeen : undefined;",
    after: "return settling.isAhead && status === 'cancelled' ? inboxSeen : undefined;",
  },
  {
    id: 'code that runs ahead does not wait for its result',
    rules: 'X-100',
    file: 'src/engine/run/settling.ts',
    before: 'if (!this.isAhead) return false;\n    this.#held.push(call);',
    after: 'if (this.#ahead !== null) return false;\n    this.#held.push(call);',
  },
  {
    id: 'an early answer is not noted',
    rules: 'W-2, W-9',
    file: 'src/store/sql/awaits.ts',
    before: '      yield* all(NOTE_EARLY, decision.interaction);\n',
    after: '',
  },
  {
    id: 'an await that times out leaves its question open',
    rules: 'W-6',
    file: 'src/features/awaits/decide.ts',
    before: "closesOthers: true,\n    message: { kind: 'await-settled'",
    after: "closesOthers: status !== 'timed-out',\n    message: { kind: 'await-settled'",
    test: 'W-5, W-6: an answer to a timed-out unit is late, and earlier answers stay',
    needs: 'a look at the question of an await that has timed out',
  },
  {
    id: 'a repeated trigger meets its own execution',
    rules: 'X-124',
    file: 'src/store/sql/schedules.ts',
    before: 'if (existing.length === request.submits.length) return',
    after: 'if (existing.length > request.submits.length) return',
    test: 'X-121: a trigger submits without moving the schedule, once for each key, also while it is paused',
    needs: 'an operator who repeats a trigger',
  },
  {
    id: 'an execution that leaves keeps the lease of its block',
    rules: 'X-107',
    file: 'src/engine/run/calls/lease.ts',
    before: "if (activeSteps === 0) this.#stop('yielded');\n    else this.#stop(",
    after: 'void (',
  },
  {
    id: 'a cancel gives a lease up while a step may act',
    rules: 'P2, X-106',
    file: 'src/engine/run/calls/lease.ts',
    before: '    if (afterMs > 0) await this.run.config.timers.pause(afterMs);\n',
    after: '',
    test: 'P2, X-106: a cancel keeps the lease for as long as a running step has asserted it',
    needs: 'a cancel in the milliseconds for which a step has asserted the lease',
  },
  {
    id: 'an older erasure overwrites what is left to erase',
    rules: 'F-16',
    file: 'src/store/sql/erase.ts',
    before: '  if (JSON.stringify(execution.erased) !== before) return;\n',
    after: '',
    unreached: 'no workload erases large values, which alone stay pending',
    test: 'F-14: an erasure is complete only for a caller that saw what was pending',
  },
  {
    id: 'an execution that ends hands no slot on',
    rules: 'W-9, W-18',
    file: 'src/store/sql/awaits.ts',
    before: '  yield* admitNext(units, false);',
    after: '',
  },
  {
    id: 'an answer hands no slot on',
    rules: 'W-18',
    file: 'src/store/sql/awaits.ts',
    before: 'return interactions.length > 0 || closesOthers;',
    after: 'return interactions.length > 1 || closesOthers;',
  },
  {
    id: 'an erasure leaves the outputs of steps',
    rules: 'F-13',
    file: 'src/features/erasure/model.ts',
    before: 'if (VALUES.has(name) && isObject(value)) kept[name] = this.#envelope(value);',
    after: 'if (VALUES.has(name)) kept[name] = value;',
  },
  {
    id: 'a repeated update reaches the code again',
    rules: 'X-128',
    file: 'src/features/updates/api.ts',
    before: `key: derivedUuid(\`update:\${key}\`),`,
    after: 'key: config.random.uuid(),',
    unreached: 'no workload sends updates',
    test: 'X-128: an update gets its reply once for each key, also from a parked execution and after a crash',
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

export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...BY_HAND,
  ...LEASE_BUGS,
  ...EXECUTION_BUGS,
  ...guards(),
];

export function plantedBug(id: string): PlantedBug {
  const found = PLANTED_BUGS.find((bug) => bug.id === id);
  if (found === undefined) throw new Error(`There is no planted bug "${id}".`);
  return found;
}
