// Builds the documents of one execution (F-9). They depend only on stored data, so building them
// again yields the same bytes.

import type { Envelope, ProjectPayloads } from '../../engine/values/payloads.ts';
import type { ExecutionRecord } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import { formatInstant, type Instant } from '../../support/clock.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault } from '../../support/fault.ts';
import { present, wordsIn } from '../../support/options.ts';
import { viewOf } from '../../support/value.ts';
import { ERASED_BY } from '../erasure/model.ts';
import type { Gathered, InteractionParts } from './archive-api.ts';

export const ARCHIVE_FORMAT = 'holdfast-archive-1';

/** All documents except attachments, which are read one by one while writing. */
export async function documentsOf(gathered: Gathered, values: Values): Promise<readonly Draft[]> {
  const { execution, history, letter } = gathered;
  const steps = stepsOf(history);
  const input = await values.ofPayload(execution.input);
  const end = await values.ofBody(history.at(-1)?.body);
  const report = reportOf({ gathered, steps, input, end });
  const documents = [
    json('record.json', {
      ...timed({ ...execution, ...present({ startedAt: startOf(history) }) }),
      ...present({ templateId: qualifiedTemplateOf(execution) }),
      input,
      ...(execution.progress && { progress: await values.ofPayload(execution.progress) }),
      end,
      ...(letter && { deadLetter: timed(letter) }),
      children: gathered.children,
    }),
    json('steps.json', steps),
    json(
      'history.json',
      await Promise.all(
        history.map(async ({ body, ...event }) => {
          return { ...timed(event), ...(body && { body: await values.ofBody(body) }) };
        }),
      ),
    ),
    ...(await inboxOf(gathered, values)),
    ...(await awaitsOf(gathered, values)),
    ...(gathered.audit.length === 0 ? [] : [json('audit.json', gathered.audit.map(timed))]),
    { name: 'report.md', type: 'text/markdown; charset=utf-8', bytes: Buffer.from(report) },
  ];
  return [...documents, ...values.drafts.values()];
}

/** When a worker first claimed it. Undefined if none did. */
function startOf(history: readonly HistoryEvent[]): Instant | undefined {
  return history.find(({ kind }) => kind === 'claimed')?.at;
}

/** Unique over all projects: `<project>/<id>@<version>`. */
function qualifiedTemplateOf({ project, template }: ExecutionRecord): string | undefined {
  return template && `${project}/${template.id}@${template.version}`;
}

async function inboxOf({ inbox }: Gathered, values: Values): Promise<readonly Draft[]> {
  if (inbox.length === 0) return [];
  const messages = inbox.map(async ({ body, ...message }) => {
    return { ...timed(message), ...(body && { body: await values.ofBody(body) }) };
  });
  return [json('inbox.json', await Promise.all(messages))];
}

async function awaitsOf({ awaits }: Gathered, values: Values): Promise<readonly Draft[]> {
  if (awaits.length === 0) return [];
  const all = awaits.map(async ({ interaction, unit, late }) => {
    const { request, answer, ...rest } = interaction;
    return {
      ...rest,
      ...(request && { request: await values.ofPayload(request) }),
      ...(answer && { answer: await answerOf(answer, values) }),
      late: await Promise.all(late.map((each) => answerOf(each, values))),
      ...(unit && { unit: timed(unitOf(unit)) }),
    };
  });
  return [json('awaits.json', await Promise.all(all))];
}

async function answerOf(answer: InteractionParts['late'][number], values: Values): Promise<object> {
  const { value, ...rest } = answer;
  return { ...timed(rest), value: await values.ofPayload(value) };
}

function unitOf(unit: NonNullable<InteractionParts['unit']>): object {
  const { defaultAnswer: _, reminders: __, ...shown } = unit;
  return shown;
}

function json(name: string, value: unknown): Draft {
  return { name, type: JSON_TYPE, bytes: jsonBytes(value) };
}

const TIMES: ReadonlySet<string> = new Set(
  wordsIn(
    'at submittedAt startedAt endedAt claimedAt deadlineAt readyAt openedAt settledAt dueAt nextAt answeredAt',
  ),
);

/** Formats times for people. Callers decode the values. */
function timed(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record as Partial<ExecutionRecord>).map(([name, value]): [string, unknown] => {
      const isTime = TIMES.has(name) && typeof value === 'number';
      return [name, isTime ? formatInstant(value as Instant) : value];
    }),
  );
}

// Values in the archive: as JSON if this process can read them, otherwise as stored. Large values
// become documents of their own.

/** A document before it is written. */
export interface Draft {
  readonly name: string;
  readonly type: string;
  /** The original name, if that does not fit a file. */
  readonly title?: string;
  readonly bytes: Uint8Array;
}

export const JSON_TYPE = 'application/json';
const DIGEST_SHOWN = 16;

/** Faults that mean "this value is unreadable here"; all others concern the store. */
const UNREADABLE: ReadonlySet<string> = new Set([
  ...['codec-missing', 'codec-refused', 'codec-broken', 'store-corrupt'],
]);

export class Values {
  readonly drafts: Map<string, Draft> = new Map();
  readonly #payloads: ProjectPayloads;
  readonly #decodes: boolean;

  constructor(payloads: ProjectPayloads, decodes: boolean) {
    this.#payloads = payloads;
    this.#decodes = decodes;
  }

  /** The input or progress of a record. */
  async ofPayload(payload: string): Promise<unknown> {
    return this.#open(JSON.parse(payload) as Envelope);
  }

  /**
   * The body of an event or a message. Its `out` is a value; other values are recognised by their
   * form.
   */
  async ofBody(body: string | undefined): Promise<unknown> {
    if (body === undefined) return undefined;
    const parsed = parsedOf(body);
    if (!isObject(parsed)) return parsed;
    const { out, ...rest } = parsed;
    const shown = (await this.#within(rest)) as object;
    return isObject(out) ? { ...shown, out: await this.#open(out as Envelope) } : shown;
  }

  async #within(value: unknown): Promise<unknown> {
    if (Array.isArray(value)) return Promise.all(value.map((each) => this.#within(each)));
    if (!isObject(value)) return value;
    if (isApart(value)) return this.#open(value as Envelope);
    const entries = Object.entries(value).map(async ([name, each]) => [
      name,
      // Inline content belongs to the user, whatever its form.
      name === 'v' ? each : await this.#within(each),
    ]);
    return Object.fromEntries(await Promise.all(entries)) as unknown;
  }

  async #open(envelope: Envelope): Promise<unknown> {
    const { ref, by, size } = envelope;
    if (by === ERASED_BY) return { erased: true, sha256: ref, bytes: size };
    if (by !== undefined && !this.#decodes) return this.#closed(envelope, 'kept sealed');
    try {
      const decoded: unknown = await this.#payloads.decodeEnvelope(envelope);
      const value = envelope.tagged === true ? viewOf(decoded) : decoded;
      return ref === undefined ? value : this.#apart(ref, value);
    } catch (error) {
      if (!(error instanceof Fault) || !UNREADABLE.has(error.code)) throw error;
      return this.#closed(envelope, error.message);
    }
  }

  #apart(ref: string, value: unknown): { readonly document: string } {
    const bytes = jsonBytes(value);
    const name = `payloads/${ref.slice(0, DIGEST_SHOWN)}.json`;
    this.drafts.set(name, { name, type: JSON_TYPE, bytes });
    return { document: name };
  }

  /** The value as stored. */
  async #closed(envelope: Envelope, why: string): Promise<unknown> {
    const { ref, enc, by } = envelope;
    const bytes =
      ref === undefined ? Buffer.from(enc ?? '', 'base64') : await this.#payloads.stored(ref);
    if (bytes === undefined) return { sealed: true, why, missing: ref };
    const name = `payloads/${digestOf(bytes).slice(0, DIGEST_SHOWN)}.bin`;
    this.drafts.set(name, { name, type: 'application/octet-stream', bytes });
    return { sealed: true, why, ...(by === undefined ? {} : { by }), document: name };
  }
}

export function jsonBytes(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value ?? null, null, 2)}\n`);
}

function parsedOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isApart({ ref, enc, size, by }: Record<string, unknown>): boolean {
  const isKept = typeof ref === 'string' && /^[0-9a-f]{64}$/.test(ref) && typeof size === 'number';
  return isKept || (typeof enc === 'string' && typeof by === 'string');
}

// The calls that the code made, in order, and the outcome of each.

interface ArchivedStep {
  /** Such as `step:charge#1`. After a checkpoint, the same call may appear with the next part. */
  readonly call: string;
  /** The number of checkpoints before it. */
  readonly part: number;
  readonly name?: string;
  readonly outcome: 'completed' | 'failed' | 'open';
  readonly failures: number;
  readonly firstAt: string;
  readonly lastAt: string;
}

interface StepDraft {
  readonly call: string;
  readonly part: number;
  name: string | undefined;
  outcome: ArchivedStep['outcome'];
  failures: number;
  readonly firstAt: string;
  lastAt: string;
}

const SETTLES: ReadonlySet<string> = new Set(
  wordsIn(
    'step-completed timer-fired child-ended signal-received await-settled attached lease-ended',
  ),
);

function stepsOf(history: readonly HistoryEvent[]): readonly ArchivedStep[] {
  const steps = new Map<string, StepDraft>();
  let part = 0;
  for (const { kind, name, body, at } of history) {
    const { key: call, retryInMs } = bodyOf(body);
    if (kind === 'checkpointed') part += 1;
    if (call === undefined) continue;
    const when = formatInstant(at);
    const id = `${part} ${call}`;
    const step: StepDraft = steps.get(id) ?? {
      ...{ call, part, name, outcome: 'open', failures: 0, firstAt: when, lastAt: when },
    };
    step.lastAt = when;
    if (kind === 'step-failed') {
      step.failures += 1;
      if (retryInMs === undefined) step.outcome = 'failed';
    }
    if (SETTLES.has(kind)) step.outcome = 'completed';
    steps.set(id, step);
  }
  return [...steps.values()].map(({ name, ...step }) => {
    return { ...step, ...(name === undefined ? {} : { name }) };
  });
}

function bodyOf(body: string | undefined): { readonly key?: string; readonly retryInMs?: number } {
  try {
    const parsed: unknown = JSON.parse(body ?? '{}');
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    return {};
  }
}

// The report of an archived execution, for people: Markdown with its request, its steps and its
// end. Text from users appears only as escaped text.

interface Reported {
  readonly gathered: Gathered;
  readonly steps: readonly ArchivedStep[];
  readonly input: unknown;
  readonly end: unknown;
}

const SHOWN_MAX = 2_000;
const EVENTS_MAX = 1_000;

function reportOf({ gathered, steps, input, end }: Reported): string {
  const { execution, letter, history } = gathered;
  const { id, project, pipeline, status, key, tags, attributes } = execution;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['id', id],
    ['project', project],
    ['pipeline', pipeline],
    ['release', execution.release],
    ['status', status],
    ['key', key],
    ['tags', tags.length === 0 ? undefined : tags.join(', ')],
    ['attributes', Object.keys(attributes).length === 0 ? undefined : JSON.stringify(attributes)],
    ['submitted', formatInstant(execution.submittedAt)],
    ['started', timeOf(startOf(history))],
    ['ended', timeOf(execution.endedAt)],
    ['submitted by', execution.submittedBy],
    ['parent', execution.parent?.id],
    ['re-drive of', execution.redriveOf],
    ['template', qualifiedTemplateOf(execution)],
  ];
  return [
    `# ${cell(pipeline)}: ${status}`,
    table(
      ['', ''],
      facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
    '## Input',
    block(input),
    '## End',
    block(end),
    ...(letter === undefined
      ? []
      : [
          '## Dead letter',
          table(['', ''], entriesOf({ ...letter, at: formatInstant(letter.at) })),
        ]),
    '## Steps',
    stepTable(steps),
    ...listOf('## Attachments', ['name', 'type', 'bytes'], attachmentRows(gathered)),
    ...listOf('## Asked', ['what', 'status', 'answered by'], awaitRows(gathered)),
    ...listOf('## Children', ['id', 'pipeline', 'status'], childRows(gathered)),
    ...listOf('## What people did', ['when', 'who', 'what', 'why'], auditRows(gathered)),
    '## History',
    table(
      ['seq', 'at', 'what', 'name'],
      history.slice(0, EVENTS_MAX).map(({ seq, at, kind, name = '' }) => {
        return [String(seq), formatInstant(at), kind, name];
      }),
    ),
    ...(history.length > EVENTS_MAX
      ? [`${history.length - EVENTS_MAX} more are in history.json.`]
      : []),
    '',
  ].join('\n\n');
}

function stepTable(steps: readonly ArchivedStep[]): string {
  if (steps.length === 0) return 'None.';
  return table(
    ['call', 'outcome', 'failures', 'from', 'to'],
    steps.map(({ call, outcome, failures, firstAt, lastAt }) => {
      return [call, outcome, String(failures), firstAt, lastAt];
    }),
  );
}

type Rows = readonly (readonly string[])[];

function attachmentRows({ attachments }: Gathered): Rows {
  return attachments.map(({ name, type, bytes }) => [name, type, String(bytes)]);
}

function awaitRows({ awaits }: Gathered): Rows {
  return awaits.map(({ interaction, unit }) => {
    return [unit?.name ?? interaction.call, interaction.status, interaction.answer?.actor ?? ''];
  });
}

function childRows({ children }: Gathered): Rows {
  return children.map(({ id, pipeline, status }) => [id, pipeline, status]);
}

function auditRows({ audit }: Gathered): Rows {
  return audit.map(({ at, actor, action, reason }) => [formatInstant(at), actor, action, reason]);
}

function listOf(title: string, head: readonly string[], rows: Rows): readonly string[] {
  return rows.length === 0 ? [] : [title, table(head, rows)];
}

function entriesOf(record: object): Rows {
  return Object.entries(record).map(([name, value]) => [name, String(value)]);
}

function table(head: readonly string[], rows: Rows): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** One line without markup. */
function cell(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\\`*_[\]|#!]/g, (mark) => `\\${mark}`);
}

/** A code block that its content cannot end. */
function block(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'nothing';
  const shown =
    text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}\n… (more in record.json)` : text;
  const fence = '`'.repeat(
    Math.max(3, ...[...shown.matchAll(/`+/g)].map(([run]) => run.length + 1)),
  );
  return `${fence}json\n${shown}\n${fence}`;
}

function timeOf(at: Instant | undefined): string | undefined {
  return at === undefined ? undefined : formatInstant(at);
}
