// Compares the replies to reads of executions with the model of executions.

import type { ExecutionRecord } from '../../../src/execution/execution.ts';
import { OWN_PREFIX } from '../../../src/execution/names.ts';
import type {
  ExecutionPage,
  ListCount,
  ListExecutions,
  ReadHistory,
} from '../../../src/store/contract/execution-reads.ts';
import type { Claimed, ReadCarried } from '../../../src/store/contract/execution-store.ts';
import { digestOf } from '../../../src/support/digest.ts';
import type { StoreCall } from '../link.ts';
import type { Entry, ModelExecution } from '../model/execution.ts';
import type { ExecutionsModel } from '../model/executions.ts';

/** The knowledge of the model, and a way to report a difference. */
export interface Knowledge {
  readonly model: ExecutionsModel;
  /** Executions that the model does not know any more. */
  readonly lost: ReadonlySet<string>;
  /** True if the model could not see the submit of this execution. */
  isUnseen(id: string): boolean;
  violate(rule: string, id: string, text: string): void;
}

type Judge = (knowledge: Knowledge, request: never, reply: never) => void;

const READS: Readonly<Record<string, Judge>> = {
  'executions.read': mustBe,
  'executions.readMany': (knowledge, _: unknown, records: readonly ExecutionRecord[]) => {
    for (const record of records) mustBe(knowledge, record.id, record);
  },
  'executions.history': (knowledge, query: ReadHistory, events: readonly Entry[]) =>
    mustHave(knowledge, query, { part: 'history', found: events }),
  'executions.inbox': (knowledge, query: ReadHistory, messages: readonly Entry[]) =>
    mustHave(knowledge, query, { part: 'inbox', found: messages }),
  'executions.list': mustList,
  'executions.count': mustCount,
  'executions.carried': mustCarry,
};

export function judgeRead(knowledge: Knowledge, { verb, request, reply }: StoreCall): void {
  READS[verb]?.(knowledge, request as never, reply as never);
}

/** */
function mustBe(
  { model, lost, isUnseen, violate }: Knowledge,
  id: string,
  record: ExecutionRecord | undefined,
): void {
  if (lost.has(id) || isUnseen(id)) return;
  const known = model.get(id);
  const seen = record && { status: record.status, inboxCount: record.inboxCount };
  const own = known && { status: known.status, inboxCount: known.inbox.length };
  if (text(seen) === text(own)) return;
  violate('X-22', id, `a read returned ${text(seen)}, not ${text(own)}`);
}

/** Pages of a history or an inbox. */
function mustHave(
  { model, lost, violate }: Knowledge,
  { id, after, limit }: ReadHistory,
  { part, found }: { readonly part: 'history' | 'inbox'; readonly found: readonly Entry[] },
): void {
  const known = lost.has(id) ? undefined : model.get(id);
  if (known === undefined) return;
  const problem = differenceIn(known[part].slice(after, after + limit), found, known.isErased);
  if (problem !== undefined) violate('X-22', id, `a read of its ${part} has ${problem}`);
}

/** */
function mustList(knowledge: Knowledge, query: ListExecutions, { items }: ExecutionPage): void {
  const found: readonly string[] = items.map(({ id }) => id);
  const own = matching(knowledge, query);
  if (own === undefined || found.some(knowledge.isUnseen)) return;
  const expected = own.slice(0, query.limit);
  if (found.join() === expected.join()) return;
  const wrong = expected.find((id) => !found.includes(id)) ?? found.find((id) => !own.includes(id));
  const what = wrong === undefined ? 'has another order' : `is wrong about ${wrong}`;
  knowledge.violate('X-22', wrong ?? '', `a list by ${text(query)} ${what}`);
}

function mustCount(knowledge: Knowledge, query: ListExecutions, { count }: ListCount): void {
  const own = matching(knowledge, query);
  if (own === undefined || own.length === count) return;
  knowledge.violate('X-22', '', `a count by ${text(query)} returned ${count}, not ${own.length}`);
}

type Filter = (known: ModelExecution, value: never) => boolean;

/** The filters that the model knows. Those of keys also find re-drives (Y-20). */
const FILTERS: Readonly<Record<string, Filter>> = {
  project: ({ submit }, project: string) => submit.project === project,
  status: ({ status }, all: readonly string[]) => all.includes(status),
  pipeline: ({ submit }, pipeline: string) => submit.pipeline === pipeline,
  parent: ({ submit }, parent: string) => submit.parent?.id === parent,
  key: (known, key: string) => keysOf(known).includes(key),
  keyPrefix: (known, prefix: string) => keysOf(known).some((key) => key.startsWith(prefix)),
  hold: ({ isPaused, isBlocked }, hold: string) => (hold === 'paused' ? isPaused : isBlocked),
};

function keysOf({ key, submit: { redriveOf, lineageKey } }: ModelExecution): readonly string[] {
  return [key, redriveOf && lineageKey].filter((each) => each !== undefined);
}

const PAGING: readonly string[] = ['limit', 'sort'];

/** Newest first. Undefined if the model does not know a filter, or not all executions. */
function matching(
  { model, lost }: Knowledge,
  query: ListExecutions,
): readonly string[] | undefined {
  const given = Object.entries(query).filter(([name]) => !PAGING.includes(name));
  if (lost.size > 0 || given.some(([name]) => !(name in FILTERS))) return undefined;
  const own: string[] = [];
  for (const id of model.executions.keys()) {
    const known = model.current(id);
    if (known === undefined) continue;
    if (query.pipeline === undefined && known.submit.pipeline.startsWith(OWN_PREFIX)) continue;
    if (given.every(([name, value]) => FILTERS[name]?.(known, value as never))) own.push(id);
  }
  return own.sort().reverse();
}

/** everything that the session runs. */
function mustCarry(
  { model, lost, isUnseen, violate }: Knowledge,
  { session, after, limit }: ReadCarried,
  claims: readonly Claimed[],
): void {
  const own = [...model.executions.values()]
    .filter((known) => known.status === 'running' && known.session === session)
    .map(({ fence = 0 }) => fence)
    .filter((fence) => fence > after)
    .sort((a, b) => a - b)
    .slice(0, limit);
  const found = claims.map(({ fence }) => fence as number);
  const isUnknown = lost.size > 0 || claims.some(({ execution }) => isUnseen(execution.id));
  if (isUnknown || found.join() === own.join()) return;
  violate('X-27', '', `session ${session} runs ${own.join()}, and the list has ${found.join()}`);
}

/** The first entry that is not as the model has it, which keeps the values of erased ones. */
export function differenceIn(
  own: readonly Entry[],
  found: readonly Entry[],
  isErased: boolean,
): string | undefined {
  const ownText = (entry: Entry | undefined) => entryText(entry, isErased && withoutValues);
  const foundText = (entry: Entry | undefined) => entryText(entry, isErased && digestsIn);
  for (let nth = 0; nth < Math.max(own.length, found.length); nth += 1) {
    const [expected, stored] = [ownText(own[nth]), foundText(found[nth])];
    if (expected !== stored) return `${stored} at ${nth + 1}, not ${expected}`;
  }
  return undefined;
}

/** The body of a claim names its session and its owner, which the model does not know. */
function entryText(entry: Entry | undefined, bodyText: false | ((body: string) => string)): string {
  if (entry === undefined) return 'nothing';
  const { kind, name, body = '', fence } = entry;
  const shown = bodyText === false || body === '' ? body : bodyText(body);
  const parts = kind === 'claimed' ? [kind, fence] : [kind, fence, name, shown];
  return parts.map((part) => part ?? '').join(' ');
}

/** The digests that an erasure leaves of the values in a body, in order (F-13). */
function withoutValues(body: string): string {
  const digests: string[] = [];
  JSON.parse(body, (_, part: unknown) => {
    if (isObject(part) && Object.keys(part).join() === 'v')
      digests.push(digestOf(Buffer.from(text(part['v']))));
    return part;
  });
  return digests.join();
}

/** The digests in the body of an erased entry, and every value that it still has. */
function digestsIn(body: string): string {
  const found: string[] = [];
  JSON.parse(body, (_, part: unknown) => {
    if (isObject(part) && 'v' in part) found.push(text(part));
    if (isObject(part) && part['by'] === 'erased' && 'ref' in part) found.push(String(part['ref']));
    return part;
  });
  return found.join();
}

function isObject(part: unknown): part is Readonly<Record<string, unknown>> {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}
