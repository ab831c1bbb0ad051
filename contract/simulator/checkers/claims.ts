// Judges claims by the model of executions: how many they take, which ones, in which order, and how
// these look.

import type {
  Claim,
  Claimed,
  ClaimResult,
  Submit,
} from '../../../src/store/contract/execution-store.ts';
import type { ModelExecution } from '../model/execution.ts';
import type { Knowledge } from './execution-reads.ts';

type Taken = Extract<ClaimResult, { readonly kind: 'claimed' }>;

/** The executions of one project in one lane. */
type Queue = `${string} ${string}`;

interface At {
  readonly at: number;
  readonly hasEnded: (session: string) => boolean;
  /** True if the execution is still in the store and pinned to no release. */
  readonly isPlain: (submit: Submit) => boolean;
}

/** Applies the claims to the model. */
export function judgeClaim(
  knowledge: Knowledge,
  { request, result }: { readonly request: Claim; readonly result: Taken },
  when: At,
): void {
  const { model, lost, isUnseen, violate } = knowledge;
  const known = result.claims.filter(
    ({ execution: { id } }) => !lost.has(id) && !isUnseen(id) && model.executions.has(id),
  );
  // A claim whose reply was lost is returned again.
  const fresh = known.filter(({ execution: { id }, fence }) => {
    const { fence: own, status } = model.current(id) as ModelExecution;
    return own !== fence || status !== 'running';
  });
  const order = new Order(fresh, model.executions);
  mustKeepLimits(knowledge, request, fresh);
  for (const claimed of result.claims) {
    const { id } = claimed.execution;
    if (lost.has(id) || isUnseen(id)) continue;
    const problem = model.claim(claimed, when);
    if (problem !== undefined) violate('X-11', id, `it was claimed, and ${problem}`);
    else mustBeAsSubmitted(knowledge, claimed);
  }
  for (const problem of order.problems) violate('X-11', problem.id, problem.text);
  // A worker with a release takes pinned executions too, which the model does not know.
  if (request.release === undefined) mustChooseRight(knowledge, { request, result, order }, when);
}

/** At most `limit` of each lane. */
function mustKeepLimits(
  { violate }: Knowledge,
  { shares }: Claim,
  claims: readonly Claimed[],
): void {
  for (const [lane, taken] of Map.groupBy(claims, ({ execution }) => execution.lane)) {
    const limit = shares.find((share) => share.lane === lane)?.limit ?? 0;
    const [beyond] = taken.slice(limit);
    if (beyond === undefined) continue;
    violate('X-11', beyond.execution.id, `it was number ${limit + 1} of ${limit} in lane ${lane}`);
  }
}

/** A claim returns what was submitted. */
function mustBeAsSubmitted({ model, violate }: Knowledge, { execution }: Claimed): void {
  const { submit, deadlineAt } = model.executions.get(execution.id) as ModelExecution;
  for (const part of ['project', 'lane', 'input', 'lineage', 'redriveOf'] as const) {
    if (execution[part] === submit[part]) continue;
    violate(
      'X-61',
      execution.id,
      `it was claimed with ${part} ${execution[part]}, and submitted with ${submit[part]}`,
    );
  }
  if (execution.deadlineAt !== deadlineAt) {
    violate(
      'X-61',
      execution.id,
      `it was claimed with deadline ${execution.deadlineAt}, not ${deadlineAt}`,
    );
  }
}

/** Executions that a claim took, as they were before it. Those with keys have times of their own. */
class Order {
  readonly problems: { readonly id: string; readonly text: string }[] = [];
  /** The last ready execution of each queue that the claim took. */
  readonly last: Map<Queue, Ready> = new Map();
  /** The number of ready executions that the claim took from each queue. */
  readonly taken: Map<Queue, number> = new Map();

  constructor(claims: readonly Claimed[], executions: ReadonlyMap<string, ModelExecution>) {
    for (const { execution, previous } of claims) {
      const { id } = execution;
      const { submit, readyAt } = executions.get(id) as ModelExecution;
      const queue = queueOf(submit);
      if (previous === 'lost') {
        if (this.taken.has(queue)) this.problems.push({ id, text: 'it was lost, and not first' });
        continue;
      }
      this.taken.set(queue, (this.taken.get(queue) ?? 0) + 1);
      if (readyAt === undefined || isKeyed(submit)) continue;
      const before = this.last.get(queue);
      const own = { readyAt, id };
      if (before !== undefined && isSooner(own, before)) {
        this.problems.push({ id, text: `it was ready before ${before.id}, and claimed after it` });
      }
      this.last.set(queue, own);
    }
  }
}

/**
 * A claim that took less than it may, and knows of no more, leaves nothing that is ready. Otherwise it
 * took the longest ready ones of each project, after those that were lost, and no project got
 * more than its part.
 */
function mustChooseRight(
  { model, lost, violate }: Knowledge,
  {
    request,
    result,
    order,
  }: { readonly request: Claim; readonly result: Taken; readonly order: Order },
  { at, hasEnded, isPlain }: At,
): void {
  const names: readonly string[] = request.pipelines;
  const { project } = request;
  for (const { lane, limit } of request.shares) {
    const claims = result.claims.filter(({ execution }) => execution.lane === lane);
    const isComplete = !result.more && claims.length < limit;
    const projects = new Set<string>(claims.map(({ execution }) => execution.project));
    for (const known of model.executions.values()) {
      const { submit, session = '', losses } = known;
      const { id } = submit;
      if (submit.lane !== lane || !names.includes(submit.pipeline) || isKeyed(submit)) continue;
      if (lost.has(id) || (project !== undefined && submit.project !== project)) continue;
      const last = order.last.get(queueOf(submit));
      if (known.status === 'running') {
        // A suspect waits for its trial.
        if (last === undefined || losses > 0 || !hasEnded(session) || !isPlain(submit)) continue;
        violate('X-11', id, `it was lost, and a claim took ${last.id} instead`);
        continue;
      }
      if (!isReady(known, at) || !isPlain(submit) || !isReady(known, at)) continue;
      projects.add(submit.project);
      const { readyAt } = known;
      if (isComplete || (last !== undefined && isSooner({ readyAt, id }, last))) {
        violate('X-11', id, `a claim left it, and it was ready since ${at - readyAt} ms`);
      }
    }
    const part = Math.ceil(limit / projects.size);
    for (const each of projects) {
      const taken = order.taken.get(`${each} ${lane}`) ?? 0;
      if (taken > part)
        violate('X-60', '', `project ${each} got ${taken}, and its part is ${part}`);
    }
  }
}

function queueOf({ project, lane }: Submit): Queue {
  return `${project} ${lane}`;
}

/** Limits move its time. */
function isKeyed({ concurrency, rate }: Submit): boolean {
  return concurrency !== undefined || rate !== undefined;
}

interface Ready {
  readonly readyAt: number;
  readonly id: string;
}

function isSooner(a: Ready, b: Ready): boolean {
  return a.readyAt < b.readyAt || (a.readyAt === b.readyAt && a.id < b.id);
}

function isReady(known: ModelExecution, at: number): known is ModelExecution & { readyAt: number } {
  const { status, readyAt, isPaused, isBlocked } = known;
  return readyAt !== undefined && readyAt <= at && status !== 'running' && !isPaused && !isBlocked;
}
