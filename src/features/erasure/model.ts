// Erases the values of an ended execution and keeps its structure: kinds, names, times, codes and
// ids stay. Digests replace values, and texts of errors and log lines are removed. Pure.

import type { ExecutionRecord } from '../../execution/execution.ts';
import { isTerminal } from '../../execution/execution.ts';
import type { ExecutionId, Payload, ProjectName } from '../../execution/names.ts';
import type { EraseRefusal } from '../../execution/refusal.ts';
import { digestOf } from '../../support/digest.ts';
import { wordsIn } from '../../support/options.ts';
import type { ArchivedExecution } from '../retention/model.ts';

/**
 * The `by` of an erased value. A build without erasure takes it for a codec that it does not have,
 * so it never runs code with such a value. No codec can have this name.
 */
export const ERASED_BY = 'erased';

/** Replaces texts for people, such as the message of an error. */
export const ERASED_TEXT = 'erased';

/** A row can refer to a large value for the first time this long after its put, as in X-78. */
export const PUT_BEFORE_MS = 600_000;

type EraseDecision =
  | { readonly kind: 'erase' }
  | { readonly kind: 'already-erased' }
  | { readonly kind: 'refuse'; readonly refusal: EraseRefusal };

/** `of` is its row, or its entry in the index of the archive. */
export function decideErase(
  of: ExecutionRecord | ArchivedExecution | undefined,
  { id, project }: { readonly id: ExecutionId; readonly project: ProjectName },
): EraseDecision {
  if (of === undefined || of.project !== project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id } };
  }
  if (!isTerminal(of.status)) {
    return { kind: 'refuse', refusal: { why: 'not-ended', id, status: of.status } };
  }
  return { kind: of.erased === undefined ? 'erase' : 'already-erased' };
}

/** Facts of the engine in the bodies of events and messages. All other fields go. */
const FACTS: ReadonlySet<string> = new Set([
  ...wordsIn(
    'abandoned ahead asked at attempt by bytes category clash code continuedAs continues denied',
  ),
  ...wordsIn(
    'expected fence for forced found from id ids inside item items key kind last location',
  ),
  ...wordsIn('ms n needed of owner patch previous redriveOf retryInMs saga seq session settledAt'),
  ...wordsIn('soft startedAt status taken to tookMs type until update with'),
]);

/** Values, each an envelope. */
const VALUES: ReadonlySet<string> = new Set(wordsIn('default out state'));

/** Texts that may contain values, in the forms that their readers need. */
const TEXTS: ReadonlySet<string> = new Set(wordsIn('log message reason rejected why'));

const PARTS: ReadonlySet<string> = new Set(wordsIn('answers failure'));

/** Reasons of the engine are words, such as `lease-lost`. Other texts are sentences. */
const WORD = /^[a-z][a-z-]{0,40}$/;

type Json = Readonly<Record<string, unknown>>;

interface StoredValue {
  readonly v?: unknown;
  readonly enc?: string;
  readonly ref?: string;
  readonly by?: string;
  readonly size?: number;
}

/** Erases the texts of one execution, and collects the digests of its large values. */
export class Eraser {
  /** Digests of values that are stored apart from the rows. */
  readonly apart: Set<string> = new Set();

  /** An input, a progress, a request or an answer: an envelope as text. */
  value(payload: string): Payload {
    const parsed = parsedOf(payload);
    const envelope = isObject(parsed) ? parsed : { v: payload };
    return JSON.stringify(this.#envelope(envelope)) as Payload;
  }

  /** The body of an event or a message, or the content of a published value. */
  body(text: string): Payload {
    const parsed = parsedOf(text);
    return (isObject(parsed) ? JSON.stringify(this.#facts(parsed)) : '{}') as Payload;
  }

  /** Keeps the order of fields, because retention finds successors by the first one (F-2). */
  #facts(body: Json): Json {
    const kept: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(body)) {
      if (VALUES.has(name) && isObject(value)) kept[name] = this.#envelope(value);
      else if (TEXTS.has(name)) kept[name] = textOf(name, value);
      else if (PARTS.has(name)) kept[name] = this.#part(value);
      else if (FACTS.has(name) && isFact(value)) kept[name] = value;
    }
    return kept;
  }

  #part(value: unknown): unknown {
    if (Array.isArray(value)) return value.filter(isObject).map((each) => this.#facts(each));
    return isObject(value) ? this.#facts(value) : {};
  }

  /** The digest is that of the stored bytes, as for a large value. Nothing stays nothing. */
  #envelope(value: StoredValue): StoredValue {
    const { v, enc, ref, by, size } = value;
    if (by === ERASED_BY) return { ...(ref && { ref }), ...(size && { size }), by };
    if (ref !== undefined) {
      this.apart.add(ref);
      return { ref, ...(size && { size }), by: ERASED_BY };
    }
    if (Object.keys(value).length === 0) return {};
    const text = (): Buffer => Buffer.from(JSON.stringify(v === undefined ? value : v));
    const bytes = enc === undefined ? text() : Buffer.from(enc, 'base64');
    return { ref: digestOf(bytes), size: bytes.length, by: ERASED_BY };
  }
}

/** A worker of another kind may have written anything. */
function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf(name: string, value: unknown): unknown {
  return name === 'why' && typeof value === 'string' && WORD.test(value) ? value : ERASED_TEXT;
}

function isFact(value: unknown): boolean {
  return Array.isArray(value) ? value.every((each) => !isObject(each)) : !isObject(value);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Documents of the archive ------------------------------------------------------------------------

/** Replaces a document. The manifest stays and has the same digest. */
export function erasedDocument(sha256: string): Uint8Array {
  return Buffer.from(`${JSON.stringify({ erased: { sha256 } })}\n`);
}

export function isErasedDocument(bytes: Uint8Array, sha256: string): boolean {
  return Buffer.from(bytes).equals(erasedDocument(sha256));
}

const LARGE_VALUE = /^payloads\/([0-9a-f]{16})\./;

/** The first digits of the digests of large values, which name their documents. */
export function largeValuesIn(documents: readonly { readonly name: string }[]): readonly string[] {
  return documents.flatMap(({ name }) => LARGE_VALUE.exec(name)?.[1] ?? []);
}
