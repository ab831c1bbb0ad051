// `holdfast lease`: run a program under a lease, and look at leases, drain, revoke and watch them.
// It works on a store, or through a coordinator in the key's project.

import { userInfo } from 'node:os';
import {
  type CommandSpec,
  commandOfVerbs,
  durationText,
  type Flag,
  integerText,
  refuseWords,
  requiredText,
  type Typed,
  UsageProblem,
  type Verb,
  wordsOf,
} from '../../cli/command.ts';
import { RUN_CODE_TEXTS, RUN_CODES } from '../../cli/lease-run/outcome.ts';
import { RUN_USAGE, runOf, runUnderLease } from '../../cli/lease-run/run.ts';
import { CONNECTION_FLAGS, connectionFor } from '../../cli/remote/connection.ts';
import { PAGE_FLAGS, printRows } from '../../cli/remote/pages.ts';
import { printFields, type Row } from '../../cli/remote/show.ts';
import { plain, print, printLine, printProblem } from '../../cli/screen.ts';
import { openLeaseStore } from '../../embedded/open-store.ts';
import { parseFence } from '../../lease/fence.ts';
import { type LeaseKey, parseLeaseKey } from '../../lease/names.ts';
import { drainLease, type OperateOptions, revokeLease } from '../../lease/operate.ts';
import type { LeaseService } from '../../lease/port.ts';
import { describeRefusal, type Refusal } from '../../lease/refusal.ts';
import { scanLeases } from '../../lease/scan.ts';
import { type Watched, watchLeases } from '../../lease/watch.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { stopRequested } from '../../support/stop-requested.ts';
import { openCoordinator } from '../../worker/open-coordinator.ts';

const LIMIT = 100;
const DEADLINE_MS = 60_000;

const FLAGS: Readonly<Record<string, Flag>> = {
  store: {
    value: 'url|path',
    help: 'Store to use without a coordinator: a SQLite file, postgres://…, redis://… or etcd://host:2379 (default the coordinator at --url)',
  },
  wait: { help: 'run: Wait in the queue of the key; otherwise fail if another process has it' },
  timeout: { value: 'duration', help: 'run: Longest wait, with --wait (default no limit)' },
  ttl: {
    value: 'duration',
    help: 'run: Time without a renewal until others can have the key, at least 1s (default 15s)',
  },
  owner: {
    value: 'name',
    help: 'run: Name that others see as the holder (default lease-run@ and the name of this host)',
  },
  'checkpoint-file': {
    value: 'path',
    help: 'run: File with the progress of the program: restored before it starts, saved when it changes (default none)',
  },
  'checkpoint-every': {
    value: 'duration',
    help: 'run: Time between two checks of the file (default 1s)',
  },
  prefix: { value: 'prefix', help: 'list, watch: Only keys that start with this (default all)' },
  'stale-owner': { help: 'list: Only leases whose holder missed heartbeats' },
  ...PAGE_FLAGS,
  reason: { value: 'text', help: 'drain, revoke: Reason, for the record', required: true },
  deadline: {
    value: 'duration',
    help: 'drain: Time that the holder has to stop (default 60s)',
  },
  successor: { value: 'owner', help: 'drain: Owner that gets the key first (default none)' },
  fence: {
    value: 'n',
    help: 'drain, revoke: Only if the newest term has this fence (default any)',
  },
  actor: {
    value: 'name',
    help: 'drain, revoke: Actor, for the record (default the user of this shell)',
  },
  after: {
    value: 'n',
    help: 'watch: Print events after this position (default 0, the oldest that is kept)',
  },
  ...CONNECTION_FLAGS,
};

const run: Verb = {
  usage: RUN_USAGE,
  execute(typed) {
    const parsed = runOf(typed);
    return withStore(typed, (store) => runUnderLease(parsed, store));
  },
};

const list: Verb = {
  usage:
    'holdfast lease list [--prefix reports/] [--stale-owner] [--limit 100] [--cursor …] [--all] [--json]',
  execute(typed) {
    refuseWords(list, typed);
    const limit = integerText('limit', typed.text('limit'), 1) ?? LIMIT;
    return withStore(typed, (store) => listLeases(store, typed, limit));
  },
};

async function listLeases(store: LeaseService, typed: Typed, limit: number): Promise<number> {
  const prefix = typed.text('prefix');
  const cursor = typed.text('cursor');
  const staleOwner = typed.isSet('stale-owner');
  let after = cursor === undefined ? undefined : parseLeaseKey(cursor);
  let shown = 0;
  do {
    const page = await scanLeases(store.leases, {
      ...{ limit, staleOwner },
      ...present({ prefix, after }),
    });
    const rows = page.items.map(readable);
    shown += rows.length;
    if (typed.isSet('json')) for (const row of rows) printLine(row);
    else if (rows.length > 0)
      printRows(rows, ['key', 'state', 'owner', 'fence', 'since', 'freeInMs', 'exit']);
    after = page.cursor;
  } while (typed.isSet('all') && after !== undefined);
  // A page that is exactly full has a cursor, but nothing may follow it.
  const isMore =
    after !== undefined &&
    (await store.leases.list({ limit: 1, ...present({ prefix, after }) })).length > 0;
  if (isMore) printProblem(`There are more. Pass --cursor ${after}, or --all.`);
  else if (shown === 0 && !typed.isSet('json')) printProblem('None.');
  return 0;
}

const show: Verb = {
  usage: 'holdfast lease show <key> [--json]',
  execute(typed) {
    const [key] = wordsOf(show, typed, ['key']);
    return withStore(typed, async (store) => {
      const { record, ...found } = await store.leases.inspect(parseLeaseKey(key));
      const row = readable({ ...record, ...found });
      if (typed.isSet('json')) printLine(row);
      else printFields(row);
      return 0;
    });
  },
};

const drain: Verb = {
  usage: 'holdfast lease drain <key> --reason "…" [--deadline 60s] [--successor …] [--fence …]',
  execute(typed) {
    const [key] = wordsOf(drain, typed, ['key']);
    const deadlineMs = durationText('deadline', typed.text('deadline')) ?? DEADLINE_MS;
    const successor = typed.text('successor');
    return operate(typed, key, async (term) => {
      const result = await drainLease({ ...term, deadlineMs, ...present({ successor }) });
      const inMs = result.kind === 'draining' ? Math.ceil(result.deadlineInMs) : 0;
      return [result, `The holder of "${key}" has ${inMs} ms to stop.`];
    });
  },
};

const revoke: Verb = {
  usage: 'holdfast lease revoke <key> --reason "…" [--fence …]',
  execute(typed) {
    const [key] = wordsOf(revoke, typed, ['key']);
    return operate(typed, key, async (term) => {
      const text = `The term of "${key}" has ended. Its holder learns of it with its next heartbeat.`;
      return [await revokeLease(term), text];
    });
  },
};

type Operated = { readonly kind: string } | ({ readonly kind: 'refused' } & Refusal);

/** Names the term by its fence, so that a later holder stays as it is. */
function operate(
  typed: Typed,
  key: string,
  send: (term: OperateOptions) => Promise<readonly [Operated, string]>,
): Promise<number> {
  const reason = requiredText(lease, typed, 'reason');
  const actor = typed.text('actor') ?? userInfo().username;
  const given = typed.text('fence');
  return withStore(typed, async (store) => {
    const { record } = await store.leases.inspect(parseLeaseKey(key));
    if (record === undefined) return refused(typed, { why: 'key-unknown', key: key as LeaseKey });
    const { fence, owner: holder } = record;
    // The store would halt for a fence that it never issued, and this may be a typing error.
    if (given !== undefined && parseFence(given) !== fence) {
      const other = { key: record.key, fence: parseFence(given), newest: fence, holder };
      return refused(typed, { why: 'superseded', ...other });
    }
    const [result, text] = await send({ store, key, fence, actor, reason });
    if (isRefused(result)) return refused(typed, result);
    if (typed.isSet('json')) printLine({ key, fence, ...result });
    else print(plain(text));
    return 0;
  });
}

function isRefused(result: Operated): result is { readonly kind: 'refused' } & Refusal {
  return result.kind === 'refused';
}

function refused(typed: Typed, refusal: Refusal): number {
  if (typed.isSet('json')) printLine({ ...refusal, kind: 'refused' });
  printProblem(describeRefusal(refusal));
  return 1;
}

const watch: Verb = {
  usage: 'holdfast lease watch [--prefix reports/] [--after <seq>] [--json]',
  execute(typed) {
    refuseWords(watch, typed);
    const after = integerText('after', typed.text('after')) ?? 0;
    const prefix = typed.text('prefix') ?? '';
    return withStore(typed, async (store) => {
      const stop = new AbortController();
      void stopRequested(stop.signal).then(() => stop.abort());
      const onOutage = (fault: Error): void => printProblem(`Retrying: ${fault.message}`);
      for await (const event of watchLeases(store, { after, signal: stop.signal, onOutage })) {
        if (prefix !== '' && !('key' in event && event.key.startsWith(prefix))) continue;
        if (typed.isSet('json')) printLine(readable(event));
        else print(eventLine(event));
      }
      return 0;
    });
  },
};

function eventLine(event: Watched): string {
  if (event.kind === 'truncated') return `${event.seq}  Earlier events are no longer kept.`;
  const { seq, at, kind, ...rest } = readable(event) as Record<string, unknown>;
  const { key, owner, fence, exit, cause, actor } = rest;
  const cells = [seq, at, kind, key, owner, fence, exit, actor, cause];
  return cells.flatMap((cell) => (cell === undefined ? [] : plain(String(cell)))).join('  ');
}

export const lease: CommandSpec = {
  ...commandOfVerbs('lease', { list, run, show, drain, revoke, watch }, FLAGS),
  exitCodes: RUN_CODE_TEXTS,
  faultCode: (words) => (words[0] === 'run' ? RUN_CODES.fault : undefined),
};

async function withStore(
  typed: Typed,
  work: (store: LeaseService) => Promise<number>,
): Promise<number> {
  const store = await storeFor(typed);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function storeFor(typed: Typed): Promise<LeaseService> {
  const place = typed.text('store');
  if (place === undefined) return openCoordinator(await connectionFor(typed));
  if (typed.text('url') !== undefined) throw new UsageProblem('Pass either --store or --url.');
  return openLeaseStore(place);
}

/** With times as text, and sizes in place of bytes. */
function readable(value: object): Row {
  const entries = Object.entries(value).map(([name, field]) => [name, readableField(name, field)]);
  return Object.fromEntries(entries);
}

function readableField(name: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return value.length;
  if (Array.isArray(value)) return value.map((each) => readableField('', each));
  if (typeof value === 'object' && value !== null) return readable(value);
  if (typeof value !== 'number') return value;
  if (name === 'freeInMs') return Math.max(0, Math.trunc(value));
  return /^(at|since|.*(At|Until))$/.test(name) ? formatInstant(value as Instant) : value;
}
