// Turns values into payloads and back. A payload is a JSON envelope (envelope.ts). The engine
// stores a large value as a blob before anything refers to it, and checks its digest on every read
// (claim check).

import {
  DEFAULT_PROJECT,
  type Payload,
  type ProjectName,
  parseProject,
} from '../../execution/names.ts';
import { ERASED_BY } from '../../features/erasure/model.ts';
import type { Attachment } from '../../store/contract/execution-store.ts';
import type { BlobStore } from '../../store/contract/payload-store.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault, InvalidInput, StoreCorrupt } from '../../support/fault.ts';
import { readOptions, shown, thrownText } from '../../support/options.ts';
import { fromParsed, toText } from '../../support/value.ts';
import type { ExpectedPlace, ValuePlace } from './place.ts';

/**
 * Encrypts or compresses values before they are stored, and restores them. `aesCodec` makes one.
 *
 * @example
 * import { gunzipSync, gzipSync } from 'node:zlib';
 *
 * const gzip: PayloadCodec = {
 *   encode: (bytes) => ({ by: 'gzip', bytes: gzipSync(bytes) }),
 *   decode: ({ bytes }) => gunzipSync(bytes),
 * };
 */
export interface PayloadCodec {
  /**
   * Encodes a value. The store keeps the result's `by`, so that a reader knows the codec and key.
   */
  encode(bytes: Uint8Array, context?: PayloadContext): EncodedPayload | Promise<EncodedPayload>;
  /** Decodes a value that `encode` returned, at any later time. */
  decode(encoded: EncodedPayload, context?: PayloadContext): Uint8Array | Promise<Uint8Array>;
  /** True: values that were stored without a codec are refused. Default false. */
  readonly required?: boolean;
}

/** The place that a codec binds a value to, so that it cannot be read at another place. */
export interface PayloadContext {
  /** Project, owner and position: `default 01a1e023-… input`. */
  readonly at: string;
}

/** The result of `encode`. */
export interface EncodedPayload {
  /** Codec and key, such as `aes-256-gcm:2026-11`. */
  readonly by: string;
  /** The encoded bytes. */
  readonly bytes: Uint8Array;
  /** The place that the codec bound the value to. Without it, `decode` gets no context. */
  readonly at?: string;
}

/** Size limits of values. */
export interface PayloadLimits {
  /** Larger values are stored apart from the row. 256 up to `bytesMax`; default 65,536. */
  readonly inlineBytesMax: number;
  /** Larger values throw `PayloadTooLarge`. 1,024 to 2^30; default 16,777,216. */
  readonly bytesMax: number;
}

export const DEFAULT_LIMITS: PayloadLimits = Object.freeze({
  inlineBytesMax: 64 * 1024,
  bytesMax: 16 * 1024 * 1024,
});

/** Stored bytes; `by` and `at` if they went through the codec. */
export interface Sealed {
  readonly bytes: Uint8Array;
  readonly by?: string;
  readonly at?: string;
}

/**
 * A value exceeds `payloads.bytesMax`. Nothing was stored. Pass a reference to the data instead.
 */
export class PayloadTooLarge extends Fault {
  override readonly name = 'PayloadTooLarge';

  constructor(what: string, bytes: number, bytesMax: number) {
    super(
      'payload-too-large',
      `${what} has ${bytes} bytes, and at most ${bytesMax} can be stored. Nothing was written. Store it elsewhere and pass a reference, or raise payloads.bytesMax.`,
    );
  }
}

export class Payloads {
  readonly #store: BlobStore;
  readonly #limits: PayloadLimits;
  readonly #codec: PayloadCodec | undefined;
  #last: ProjectPayloads | undefined;

  constructor(store: BlobStore, limits: PayloadLimits, codec: PayloadCodec | undefined) {
    this.#store = store;
    this.#limits = limits;
    this.#codec = codec;
  }

  /** Puts and reads large values elsewhere, such as in a transaction of the caller (X-59). */
  on(store: BlobStore): Payloads {
    return new Payloads(store, this.#limits, this.#codec);
  }

  get limits(): PayloadLimits {
    return this.#limits;
  }

  get hasCodec(): boolean {
    return this.#codec !== undefined;
  }

  /** Keeps the last one, because the next call is nearly always for the same project. */
  of(project: ProjectName): ProjectPayloads {
    if (this.#last?.project === project) return this.#last;
    this.#last = new ProjectPayloads(this, this.#store, project);
    return this.#last;
  }

  /** Checks the caller's argument, which can be anything. */
  async decodeGiven(payload: unknown, options: { readonly project?: string }): Promise<unknown> {
    const { project } = readOptions('decode', options, ['project']);
    const own = this.of(project === undefined ? DEFAULT_PROJECT : parseProject(project));
    return own.decodeEnvelope(parseEnvelope(payload));
  }

  /** Passes the bytes through the codec, if there is one. */
  seal(bytes: Uint8Array, at?: string): Sealed | Promise<Sealed> {
    if (this.#codec === undefined) return { bytes };
    const encoded: unknown = this.#codec.encode(bytes, at === undefined ? undefined : { at });
    return isThenable(encoded)
      ? Promise.resolve(encoded).then(encodedBytes)
      : encodedBytes(encoded);
  }

  /** True if reads refuse values stored without a codec. */
  get requiresCodec(): boolean {
    return this.#codec?.required === true;
  }

  /**
   * `at` is where the attachment was found. The codec refuses one that was moved there, except
   * those sealed before places existed.
   */
  async unsealAttachment({ bytes, sealed }: Attachment, at: string): Promise<Uint8Array> {
    if (sealed?.by === ERASED_BY) throw erased('This attachment');
    if (sealed === undefined) {
      if (this.requiresCodec) throw notSealed('An attachment');
      return bytes;
    }
    const { by } = sealed;
    const content = await this.unseal({ bytes, by, at }).catch((refusal: unknown) => {
      // Older attachments are bound to no place. One that is bound to another place fails here too.
      return this.unseal({ bytes, by }).catch(() => {
        throw refusal;
      });
    });
    // A codec may return a subclass of Uint8Array, or a view of a larger buffer.
    return Uint8Array.from(content);
  }

  /** The bytes as they were before `seal`. */
  async unseal({ bytes, by, at }: Sealed): Promise<Uint8Array> {
    if (by === undefined) return bytes;
    if (this.#codec === undefined) {
      throw new Fault(
        'codec-missing',
        `A value was stored through the codec "${by}", and this process has no codec. Open Holdfast with the same codec and its keys.`,
      );
    }
    const plain: unknown = await this.#decoded(this.#codec, { by, bytes }, at);
    if (plain instanceof Uint8Array) return plain;
    throw new Fault(
      'codec-broken',
      `The codec did not return bytes when it decoded "${by}". Correct its decode function.`,
    );
  }

  /** Throws for values that the store can never keep. */
  check(what: string, value: unknown): void {
    this.checkSize(what, Buffer.byteLength(toText(what, value)?.json ?? ''));
  }

  checkSize(what: string, bytes: number): void {
    const { bytesMax } = this.#limits;
    if (bytes > bytesMax) throw new PayloadTooLarge(what, bytes, bytesMax);
  }

  async #decoded(codec: PayloadCodec, encoded: EncodedPayload, at?: string): Promise<unknown> {
    try {
      return await codec.decode(encoded, at === undefined ? undefined : { at });
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault(
        'codec-refused',
        `A value that the codec "${encoded.by}" encoded cannot be decoded: ${thrownText(cause)}`,
        { cause },
      );
    }
  }
}

/** If the codec returns anything else, fail: the value must not be stored unencrypted. */
function encodedBytes(encoded: unknown): Sealed {
  const { by, bytes, at } = (encoded ?? {}) as Partial<EncodedPayload>;
  const isNamed = typeof by === 'string' && by !== '' && by !== ERASED_BY;
  if (isNamed && bytes instanceof Uint8Array) {
    return { by, bytes, ...(typeof at === 'string' ? { at } : {}) };
  }
  throw new Fault(
    'codec-broken',
    'The codec did not return { by, bytes }: a non-empty name other than "erased", and a Uint8Array. Nothing was stored. Correct its encode function.',
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

// Turns values of one project into payloads and back. Blobs belong to that project, and a read
// finds only blobs of that project (X-28).

const UNDEFINED = '{}' as Payload;
const TAGGED = ',"tagged":true';

export class ProjectPayloads {
  readonly #all: Payloads;
  readonly #store: BlobStore;
  readonly project: ProjectName;

  constructor(all: Payloads, store: BlobStore, project: ProjectName) {
    this.#all = all;
    this.#store = store;
    this.project = project;
  }

  /** Synchronous for small values, which are nearly all, unless the codec is asynchronous. */
  encode(
    what: string,
    value: unknown,
    { owner, position, live, isInline = false }: ValuePlace,
  ): Payload | Promise<Payload> {
    const text = toText(what, value, live);
    if (text === undefined) return UNDEFINED;
    const { json } = text;
    const mark = text.tagged ? TAGGED : '';
    const inlineBytesMax = isInline ? Number.POSITIVE_INFINITY : this.#all.limits.inlineBytesMax;
    // A character has at most three bytes: check this cheap bound first.
    const isSmall = json.length * 3 <= inlineBytesMax || Buffer.byteLength(json) <= inlineBytesMax;
    if (isSmall && !this.#all.hasCodec) return `{"v":${json}${mark}}` as Payload;
    const plain = Buffer.from(json);
    this.#all.checkSize(what, plain.length);
    const sealed = this.#all.seal(plain, `${this.project} ${owner} ${position}`);
    return sealed instanceof Promise
      ? sealed.then((settled) => this.#wrap(settled, mark, inlineBytesMax))
      : this.#wrap(sealed, mark, inlineBytesMax);
  }

  /** For code inside a user's transaction, which cannot await. */
  encodeInline(what: string, value: unknown, place: ValuePlace): Payload {
    const payload = this.encode(what, value, place);
    if (!(payload instanceof Promise)) return payload;
    payload.catch(() => undefined);
    throw new Fault(
      'payload-not-inline',
      `${what} is encoded inside a transaction: it must fit ${this.#all.limits.inlineBytesMax} bytes, and the codec must be synchronous. The transaction was rolled back. Return less, such as an id.`,
    );
  }

  decode(payload: Payload, place?: ExpectedPlace): unknown {
    return this.decodeEnvelope(JSON.parse(payload) as Envelope, place);
  }

  /**
   * Returns a promise only if a codec sealed the value or the store keeps it as a blob. With a
   * place, refuses a value that was moved there.
   */
  decodeEnvelope(envelope: object, place?: ExpectedPlace): unknown {
    const { v, enc, ref, by, at, tagged } = envelope as Envelope;
    if (by === ERASED_BY) throw erased(`The value with the digest ${ref}`);
    const isSealed = by !== undefined && (enc ?? ref) !== undefined;
    const isNothing = v === undefined && (enc ?? ref) === undefined;
    if (!isSealed && !isNothing && this.#all.requiresCodec && place?.isOpen !== true) {
      throw notSealed('A value');
    }
    if (isSealed && at !== undefined && place !== undefined) this.#requireAt(at, place);
    if (enc === undefined && ref === undefined) return fromParsed(v, tagged);
    return this.#decodeApart(envelope as Envelope);
  }

  /** Compares the claimed place; the codec then verifies that the value was sealed for it. */
  #requireAt(at: string, { owners, position }: ExpectedPlace): void {
    const here = owners?.map((owner) => `${this.project} ${owner} ${position}`);
    const isHere =
      here === undefined
        ? at.startsWith(`${this.project} `) && at.endsWith(` ${position}`)
        : here.includes(at);
    if (isHere) return;
    throw new Fault(
      'codec-refused',
      `A value that was encrypted for "${at}" was found at "${here?.[0] ?? `${this.project} … ${position}`}": it was copied there in the store. Find out who wrote to the store.`,
    );
  }

  /** The stored bytes, or undefined if the project does not have the blob. */
  async stored(digest: string): Promise<Uint8Array | undefined> {
    const key = { project: this.project, digest };
    const bytes = await this.#store.getBlob(key);
    if (bytes !== undefined) return bytes;
    // A row of this project has the reference, so attribute the blob to the project (X-29).
    await this.#store.attributeBlobs({ project: this.project, digests: [digest] });
    return this.#store.getBlob(key);
  }

  #wrap(sealed: Sealed, mark: string, inlineBytesMax: number): Payload | Promise<Payload> {
    const { bytes, at } = sealed;
    const bound = at === undefined ? '' : `,"at":${JSON.stringify(at)}`;
    const by = sealed.by === undefined ? '' : `,"by":${JSON.stringify(sealed.by)}${bound}`;
    if (bytes.length <= inlineBytesMax) {
      return `{"enc":"${Buffer.from(bytes).toString('base64')}"${by}${mark}}` as Payload;
    }
    const digest = digestOf(bytes);
    const payload = `{"ref":"${digest}","size":${bytes.length}${by}${mark}}` as Payload;
    return this.#store.putBlob({ project: this.project, digest, bytes }).then(() => payload);
  }

  async #decodeApart({ enc, ref, by, at, tagged }: Envelope): Promise<unknown> {
    const bytes = enc === undefined ? await this.#fetch(ref ?? '') : Buffer.from(enc, 'base64');
    // Only a codec can have bound it to a place.
    const plain = await this.#all.unseal({ bytes, ...(by && { by, ...(at && { at }) }) });
    let parsed: unknown;
    try {
      parsed = JSON.parse(Buffer.from(plain).toString());
    } catch (cause) {
      const whose =
        by === undefined
          ? 'was not stored by Holdfast'
          : `differs from the value that "${by}" encoded`;
      throw new Fault('codec-refused', `A value cannot be decoded: it ${whose}.`, { cause });
    }
    return fromParsed(parsed, tagged);
  }

  async #fetch(digest: string): Promise<Uint8Array> {
    const bytes = await this.stored(digest);
    if (bytes === undefined) {
      throw new StoreCorrupt(
        `Project "${this.project}" refers to the value ${digest} and does not store it. Restore it from a backup.`,
      );
    }
    if (digestOf(bytes) !== digest) {
      throw new StoreCorrupt(
        `The value ${digest} was changed after it was stored. Restore it from a backup.`,
      );
    }
    return bytes;
  }
}

// The envelope of a stored value: `{"v":…}` inline, `{"enc":…}` from the codec, `{"ref":…}` for a
// blob, and `{}` for undefined.

export interface Envelope {
  readonly v?: unknown;
  /** Base64 of the codec's bytes, or the digest of the blob that has them. */
  readonly enc?: string;
  readonly ref?: string;
  /** Names the codec and its key. */
  readonly by?: string;
  /** The place that the codec sealed with the value: project, owner and position. */
  readonly at?: string;
  readonly size?: number;
  /** The text has tags (value.ts). */
  readonly tagged?: true;
}

const NAMES: readonly (keyof Envelope)[] = ['v', 'enc', 'ref', 'by', 'at', 'size', 'tagged'];
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/** Checks an envelope that a caller took from a record or a history. */
export function parseEnvelope(payload: unknown): Envelope {
  const given = typeof payload === 'string' ? parsed(payload) : payload;
  const envelope = readOptions('decode: payload', given as Envelope, NAMES);
  const { enc, ref, by, at, tagged } = envelope;
  const isText = (value: unknown, form: RegExp): boolean =>
    value === undefined || (typeof value === 'string' && form.test(value));
  const isComplete =
    isText(enc, BASE64) &&
    isText(ref, DIGEST) &&
    isText(by, /./) &&
    (tagged === undefined || tagged === true) &&
    isText(at, /./) &&
    // Only a codec produces bytes, so `enc` needs the name of the codec.
    (enc === undefined || by !== undefined) &&
    ['v', 'enc', 'ref'].filter((name) => name in envelope).length <= 1;
  if (isComplete) return envelope;
  throw unlike(payload);
}

/** A cheap test. False is certain; true may be wrong. */
export function mayBeTagged(payload: string | object): boolean {
  return typeof payload === 'string' ? payload.includes('"tagged":true') : 'tagged' in payload;
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    throw unlike(payload);
  }
}

function unlike(payload: unknown): InvalidInput {
  return new InvalidInput(
    `decode: payload must be input or progress of a record, or out of an event; got ${shown(payload)}.`,
  );
}

function erased(what: string): Fault {
  return new Fault(
    'value-erased',
    `${what} was erased, and Holdfast has no copy. Time and actor are in the record of the execution: holdfast get <id>.`,
  );
}

/** For a value that should have been sealed. */
function notSealed(what: string): Fault {
  return new Fault(
    'codec-required',
    `${what} was stored without a codec, and this process requires its codec. Submit, signal and answer from processes that have the codec, or open this one without \`required\`.`,
  );
}
