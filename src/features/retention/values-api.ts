// Values as the archive keeps them: as JSON where they can be read here, as they are stored where not. Large ones
// are documents of their own.

import type { Envelope, ProjectPayloads } from '../../engine/values/payloads.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault } from '../../support/fault.ts';
import { viewOf } from '../../support/value.ts';

/** A document that is made when it is written. */
export interface Draft {
  readonly name: string;
  readonly type: string;
  /** What it is called where it came from, when that is something else. */
  readonly title?: string;
  readonly bytes: Uint8Array;
}

export const JSON_TYPE = 'application/json';
const DIGEST_SHOWN = 16;

/** Faults that say of a value that it cannot be read here; all others say something of the store. */
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

  /** What a record has as input or progress. */
  async ofPayload(payload: string): Promise<unknown> {
    return this.#open(JSON.parse(payload) as Envelope);
  }

  /** What an event or a message says; `out` in it is a value. Others are told by their form. */
  async ofBody(body: string | undefined): Promise<unknown> {
    if (body === undefined) return undefined;
    const parsed = parsedOf(body);
    if (!isObject(parsed)) return parsed;
    const { out, ...rest } = parsed;
    const said = (await this.#within(rest)) as object;
    return isObject(out) ? { ...said, out: await this.#open(out as Envelope) } : said;
  }

  async #within(value: unknown): Promise<unknown> {
    if (Array.isArray(value)) return Promise.all(value.map((each) => this.#within(each)));
    if (!isObject(value)) return value;
    if (isApart(value)) return this.#open(value as Envelope);
    const entries = Object.entries(value).map(async ([name, each]) => [
      name,
      // What is inline is the user's own, whatever it looks like.
      name === 'v' ? each : await this.#within(each),
    ]);
    return Object.fromEntries(await Promise.all(entries)) as unknown;
  }

  async #open(envelope: Envelope): Promise<unknown> {
    const { ref, by } = envelope;
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

  /** As it is stored. */
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
