// `holdfast get`, `history` and `explain` show one execution.

import { writeFile } from 'node:fs/promises';
import { callOperation } from '../../client/calls.ts';
import { type Failure, locatedMessage } from '../../execution/failure.ts';
import type { HistoryMessage } from '../../protocol/messages/execution.ts';
import { present } from '../../support/options.ts';
import { type CommandSpec, type ExitCode, integerText, type Typed, wordsOf } from '../command.ts';
import { plain, print, printLine, printTable } from '../screen.ts';
import { CONNECTION_FLAGS, clientFor } from './connection.ts';
import { eventRow, failureNote, isLog, isUndo, outOf, printFields, shownValue } from './show.ts';

export const getCommand: CommandSpec = {
  usage: 'holdfast get <id> [--json]',
  flags: CONNECTION_FLAGS,
  execute: get,
};

async function get(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(getCommand, typed, ['execution']);
  const client = await clientFor(typed);
  const execution = await client.executions.read(id);
  const { output, failure } = await callOperation(client, 'GET /v1/executions/:id/result', { id });
  const all = { ...execution, ...present({ output, failure }) };
  if (typed.isSet('json')) printLine(all);
  else {
    const explained = CANCELLED_ENDS.has(execution.status)
      ? { explanation: (await client.executions.explain(id)).sentence }
      : {};
    printFields({ ...all, ...(failure && { failure: failureNote(failure) }), ...explained });
  }
  return 0;
}

/** The explanation of these ends names the actor and the reason of a cancel. */
const CANCELLED_ENDS: ReadonlySet<string> = new Set(['cancelled', 'compensated']);

export const historyCommand: CommandSpec = {
  usage:
    'holdfast history <id> [--log] [--after <seq>] [--limit 100] [--json]\nholdfast history <id> --save order.json',
  flags: {
    log: { help: 'Print only the lines of ctx.log' },
    save: {
      value: 'file',
      help: 'Write the history to a file that replayHistory of holdfast/testing reads (default none)',
    },
    after: { value: 'seq', help: 'Start after the event with this number (default 0)' },
    limit: {
      value: 'n',
      help: 'Number of events to read; --log prints only the log lines among them (default all)',
    },
    ...CONNECTION_FLAGS,
  },
  execute: history,
};

const PAGE_MAX = 1_000;

async function history(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(historyCommand, typed, ['execution']);
  let after = integerText('after', typed.text('after')) ?? 0;
  let left = integerText('limit', typed.text('limit'), 1) ?? Number.POSITIVE_INFINITY;
  const { executions } = await clientFor(typed);
  const file = typed.text('save');
  if (file !== undefined) {
    await writeFile(file, `${JSON.stringify(await executions.saveHistory(id), null, 2)}\n`);
    return 0;
  }
  while (left > 0) {
    const limit = Math.min(left, PAGE_MAX);
    const events = await executions.history(id, { after, limit });
    const shown = typed.isSet('log') ? events.filter(({ kind }) => isLog(kind)) : events;
    if (typed.isSet('json')) for (const event of shown) printLine(event);
    else if (shown.length > 0) {
      printTable(shown.map((event) => [String(event.seq), ...eventRow(event)]));
    }
    after = events.at(-1)?.seq ?? after;
    left = events.length < limit ? 0 : left - events.length;
  }
  return 0;
}

export const explainCommand: CommandSpec = {
  usage: 'holdfast explain <id> [--json]',
  flags: CONNECTION_FLAGS,
  execute: explain,
};

async function explain(typed: Typed): Promise<ExitCode> {
  const [id] = wordsOf(explainCommand, typed, ['execution']);
  const { executions } = await clientFor(typed);
  const explained = await executions.explain(id);
  if (typed.isSet('json')) printLine(explained);
  else {
    const { sentence, advice, storeProblem } = explained;
    const lines = [sentence, advice, storeProblem?.sentence, storeProblem?.advice];
    for (const line of lines) if (line !== undefined) print(plain(line));
  }
  return 0;
}

// Builds a tree of an execution's steps from its history alone. Steps appear in the order of their
// first event, with everything that belongs to them below.

interface Node {
  readonly name: string;
  mark: Mark;
  note: string;
  tries: number;
  readonly below: Node[];
}

type Mark = '✓' | '✗' | '↻' | '…' | '!';

interface Body {
  readonly key?: string;
  readonly failure?: Partial<Failure>;
  readonly retryInMs?: number;
  readonly attempt?: number;
  readonly ids?: readonly string[];
  readonly previous?: string;
  readonly status?: string;
}

/** At least this many finished steps of one name become one line. */
const SIMILAR_MIN = 4;

export class StepTree {
  readonly #roots: Node[] = [];
  readonly #byKey: Map<string, Node> = new Map();
  #status = 'queued';

  get status(): string {
    return this.#status;
  }

  add(event: HistoryMessage): void {
    const { kind, name = '' } = event;
    const body = (typeof event.body === 'object' && event.body !== null ? event.body : {}) as Body;
    const status = STATUS[kind];
    if (status !== undefined) this.#status = status;
    switch (kind) {
      case 'step-completed':
        this.#settle(event, body, { mark: '✓', note: outOf(event.body) });
        return;
      case 'step-failed':
        this.#failed(event, body);
        return;
      case 'timer-set':
      case 'await-opened':
        this.#settle(event, body, { mark: '…', note: kind === 'timer-set' ? 'sleeps' : 'asks' });
        return;
      case 'timer-fired':
      case 'await-settled':
      case 'lease-ended':
        this.#settle(event, body, { mark: '✓', note: '' });
        return;
      case 'child-spawned':
        for (const id of body.ids ?? []) this.#under(body.key, name).below.push(nodeOf(id, '…'));
        return;
      case 'child-ended':
        this.#childEnded(body, event.body);
        return;
      case 'claimed':
        if (body.previous === 'lost') this.#roots.push(nodeOf('taken over by another worker', '!'));
        return;
      default:
    }
  }

  #failed(event: HistoryMessage, body: Body): void {
    const why = locatedMessage(body.failure ?? {});
    const isRetried = body.retryInMs !== undefined;
    const again = isRetried ? ` (again in ${body.retryInMs} ms)` : '';
    this.#settle(event, body, { mark: isRetried ? '↻' : '✗', note: `${why}${again}` });
  }

  /** A compensation appears below the step that it undoes. */
  #settle(event: HistoryMessage, body: Body, result: Pick<Node, 'mark' | 'note'>): void {
    const node = isUndo(body)
      ? this.#undoOf(String(body.key), event.name ?? '')
      : this.#under(body.key, event.name ?? '');
    const isAttempt = event.kind === 'step-completed' || event.kind === 'step-failed';
    Object.assign(node, result, isAttempt ? { tries: node.tries + 1 } : {});
  }

  #undoOf(key: string, name: string): Node {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const made = nodeOf('undo', '…');
    this.#byKey.set(key, made);
    this.#under(key.slice('undo:'.length), name).below.push(made);
    return made;
  }

  #under(key: string | undefined, name: string): Node {
    const known = key === undefined ? undefined : this.#byKey.get(key);
    if (known !== undefined) return known;
    const made = nodeOf(name, '…');
    this.#roots.push(made);
    if (key !== undefined) this.#byKey.set(key, made);
    return made;
  }

  #childEnded(body: Body, childEnd: unknown): void {
    const id = String((childEnd as { readonly id?: unknown }).id ?? '');
    for (const node of this.#roots) {
      const child = node.below.find((each) => each.name === id);
      if (child === undefined) continue;
      child.mark = body.status === 'completed' ? '✓' : '✗';
      child.note = body.status ?? '';
      if (node.below.every(({ mark }) => mark !== '…')) node.mark = '✓';
    }
  }

  lines(): readonly string[] {
    return drawn(gathered(this.#roots), '');
  }
}

const STATUS: Readonly<Partial<Record<HistoryMessage['kind'], string>>> = {
  ...{ submitted: 'queued', claimed: 'running', parked: 'waiting', 'given-back': 'queued' },
  ...{ completed: 'completed', failed: 'failed', cancelled: 'cancelled', blocked: 'blocked' },
  ...{ quarantined: 'quarantined', compensating: 'compensating', compensated: 'compensated' },
  ...{ paused: 'paused', resumed: 'queued' },
};

function nodeOf(name: string, mark: Mark): Node {
  return { name, mark, note: '', tries: 0, below: [] };
}

function gathered(nodes: readonly Node[]): readonly Node[] {
  const all: Node[] = [];
  for (let at = 0; at < nodes.length; ) {
    const first = nodes[at] as Node;
    let to = at;
    while (to < nodes.length && isSimilar(first, nodes[to] as Node)) to += 1;
    const count = to - at;
    if (count >= SIMILAR_MIN) all.push({ ...first, name: `${first.name} × ${count}`, note: '' });
    else all.push(...nodes.slice(at, Math.max(to, at + 1)));
    at = Math.max(to, at + 1);
  }
  return all;
}

function isSimilar(first: Node, other: Node): boolean {
  return other.mark === '✓' && other.below.length === 0 && other.name === first.name;
}

function drawn(nodes: readonly Node[], indent: string): readonly string[] {
  return nodes.flatMap((node, nth) => {
    const isLast = nth === nodes.length - 1;
    const { mark, name, tries, note, below } = node;
    const tried = tries > 1 ? ` (${tries} attempts)` : '';
    const suffix = note === '' ? '' : `  ${note}`;
    const line = plain(`${mark} ${name}${tried}${suffix}`);
    return [
      `${indent}${isLast ? '└─' : '├─'} ${line}`,
      ...drawn(gathered(below), `${indent}${isLast ? '   ' : '│  '}`),
    ];
  });
}

const BAR_WIDTH = 24;

/** Draws a bar for `{ done: 3, of: 10 }` and for a fraction. Shows any other value unchanged. */
export function progressText(progress: unknown): string {
  const { done, of } = (progress ?? {}) as { readonly done?: unknown; readonly of?: unknown };
  if (typeof done === 'number' && typeof of === 'number' && of > 0) {
    return `${bar(done / of)} ${done}/${of}`;
  }
  if (typeof progress === 'number' && progress >= 0 && progress <= 1) return bar(progress);
  return progress === undefined ? '' : shownValue(progress);
}

function bar(share: number): string {
  const part = Math.min(1, Math.max(0, share));
  const full = Math.round(part * BAR_WIDTH);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}] ${percent} %`;
}
