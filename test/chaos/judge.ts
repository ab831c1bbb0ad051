// Reads everything back after the faults and compares it with what was acknowledged.

import type { ExecutionMessage, HistoryMessage } from '../../src/protocol/messages/execution.ts';
import { recoveryBoundMs } from '../services/recovery-bound.ts';
import { STEPS } from './order.ts';
import { type Stage, TTL_MS } from './stage.ts';
import type { Order, Workload } from './workload.ts';

export interface Injected {
  readonly name: string;
  readonly atMs: number;
  /** From here on, recovery counts: the fault, or the return of the store. */
  readonly countsFromMs: number;
  readonly overMs: number;
  /** How long this process waited for a CPU until the next fault. A takeover may take as much longer. */
  readonly waitedMs: number;
}

export interface Verdict {
  readonly problems: readonly string[];
  /** Acknowledged and lost. Only a failover to an asynchronous standby may lose anything. */
  readonly lost: { readonly orders: number; readonly signals: number };
  /** The epochs of the fences that steps had, ascending (T-1). */
  readonly epochs: readonly number[];
  readonly executions: number;
  readonly takeovers: number;
  /** Writes with an old fence: the unfenced ledger accepted them, the fenced one none. */
  readonly staleUnfenced: number;
  readonly staleFenced: number;
  /** When each execution ended. */
  readonly endedAtMs: readonly number[];
  /** The slowest recovery after each fault, in milliseconds; undefined if nothing was lost. */
  readonly recoveries: readonly (Injected & { readonly slowestMs: number | undefined })[];
}

const AT_ONCE = 20;

export async function judge({
  stage,
  workload,
  injected,
  mayLose,
}: {
  readonly stage: Stage;
  readonly workload: Workload;
  readonly injected: readonly Injected[];
  /** The store may have lost what it acknowledged. That is counted, and is no problem. */
  readonly mayLose: boolean;
}): Promise<Verdict> {
  const problems = [...stage.problems, ...workload.problems];
  const lost = { orders: 0, signals: 0 };
  const histories: (readonly HistoryMessage[])[] = [];
  const endedAtMs: number[] = [];
  const { orders } = workload;
  for (let from = 0; from < orders.length; from += AT_ONCE) {
    await Promise.all(
      orders.slice(from, from + AT_ONCE).map(async (order) => {
        const found = await readBack(stage, order);
        if (typeof found === 'string') {
          if (mayLose) lost.orders += 1;
          else problems.push(found);
          return;
        }
        histories.push(found.history);
        if (mayLose && waitsForSignal(order, found)) {
          lost.signals += 1;
          return;
        }
        endedAtMs.push(Date.parse(found.execution.endedAt ?? ''));
        problems.push(...problemsOf(order, found.execution, found.history));
      }),
    );
  }
  const { epochs, repeated } = await fencesIn(stage);
  if (repeated > 0) problems.push(`P1: ${repeated} fences were given to two executions.`);
  problems.push(...(await strangers(stage, orders)));
  const [staleFenced, staleUnfenced] = [
    await staleIn(stage, 'fenced'),
    await staleIn(stage, 'unfenced'),
  ];
  if (staleFenced > 0) problems.push(`P1: the fenced ledger accepted ${staleFenced} stale writes.`);
  const lostAtMs = histories.flatMap((history) =>
    history
      .filter(({ kind, body }) => kind === 'claimed' && lossOf(body))
      .map(({ at }) => Date.parse(at)),
  );
  const recoveries = injected.map((fault, nth) => {
    const untilMs = injected[nth + 1]?.atMs ?? Number.POSITIVE_INFINITY;
    const took = lostAtMs
      .filter((ms) => ms >= fault.countsFromMs && ms < untilMs)
      // A deploy replaces one process after the other.
      .map((ms) => ms - Math.max(fault.countsFromMs, ...stage.stopsMs.filter((at) => at <= ms)));
    const slowestMs = took.length === 0 ? undefined : Math.max(...took);
    return { ...fault, slowestMs };
  });
  for (const { name, waitedMs, slowestMs = 0 } of recoveries) {
    if (slowestMs > recoveryBoundMs(TTL_MS) + waitedMs) {
      problems.push(`P4: after "${name}", a takeover took ${slowestMs} ms.`);
    }
  }
  return {
    ...{ problems, executions: orders.length, takeovers: lostAtMs.length },
    ...{ staleFenced, staleUnfenced, endedAtMs, recoveries, lost, epochs },
  };
}

function lossOf(body: unknown): boolean {
  return (body as { readonly previous?: unknown } | undefined)?.previous === 'lost';
}

interface Found {
  readonly execution: ExecutionMessage;
  readonly history: readonly HistoryMessage[];
}

function waitsForSignal({ waits }: Order, { execution, history }: Found): boolean {
  const isOpen = execution.status !== 'completed';
  return isOpen && waits && !history.some(({ kind }) => kind === 'signal-received');
}

async function readBack(stage: Stage, { id, n }: Order): Promise<string | Found> {
  try {
    const execution = await stage.ask(({ executions }) => executions.read(id));
    const history = await stage.ask(({ executions }) => executions.history(id, { limit: 1_000 }));
    return { execution, history };
  } catch (error) {
    return `P3: order ${n} (${id}) was acknowledged and is lost: ${(error as Error).message}`;
  }
}

function problemsOf(
  { n, naps, waits, id }: Order,
  { status }: ExecutionMessage,
  history: readonly HistoryMessage[],
): readonly string[] {
  if (status !== 'completed') return [`Order ${n} (${id}) is ${status}.`];
  const count = (kind: string): number => history.filter((each) => each.kind === kind).length;
  const wanted = {
    ...{ 'step-completed': STEPS.length, completed: 1, quarantined: 0 },
    ...{ 'timer-fired': naps ? 1 : 0, 'signal-received': waits ? 1 : 0 },
  };
  return Object.entries(wanted)
    .filter(([kind, times]) => count(kind) !== times)
    .map(([kind, times]) => `Order ${n} (${id}) has ${count(kind)} × ${kind}, not ${times}.`);
}

/** Executions that no acknowledgement named. */
async function strangers(stage: Stage, orders: readonly Order[]): Promise<readonly string[]> {
  const known = new Set(orders.map(({ id }) => id));
  const found: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const from = cursor === undefined ? {} : { cursor };
    const page = await stage.ask(({ executions }) => executions.list({ limit: 1_000, ...from }));
    found.push(...page.items.map(({ id }) => id).filter((id) => !known.has(id)));
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return found.map((id) => `P2: execution ${id} was started twice: no caller knows it.`);
}

/** Rows of a ledger with a lower fence than an earlier row of the same key. */
async function staleIn({ ledger }: Stage, table: 'fenced' | 'unfenced'): Promise<number> {
  const { rows } = await ledger.query(
    `select count(*)::integer as n from (
       select fence, max(fence) over (partition by key order by id) as newest from ${table}) l
     where fence < newest`,
  );
  return rows[0].n;
}

/** Every step wrote its fence to the unfenced ledger, also if the store forgot the step. */
async function fencesIn({
  ledger,
}: Stage): Promise<{ readonly epochs: readonly number[]; readonly repeated: number }> {
  const { rows } = await ledger.query(
    `select array(select distinct (fence >> 40)::integer from unfenced order by 1) as epochs,
            (select count(*)::integer from (
               select from unfenced group by fence having count(distinct key) > 1) twice) as repeated`,
  );
  return rows[0];
}
