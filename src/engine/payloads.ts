// Values ↔ payloads. A payload is a JSON envelope (envelope.ts). What is kept apart because it is large is
// written before anything refers to it, and its digest is checked when it is read (claim check).

import type { Payload } from '../execution/names.ts';
import type { Attachment, PayloadStore } from '../store/contract/execution-store.ts';
import { digestOf } from '../support/digest.ts';
import { Fault, StoreCorrupt } from '../support/fault.ts';
import { thrownText } from '../support/options.ts';
import { type Envelope, parseEnvelope } from './envelope.ts';
import { toJson } from './value.ts';

/** Turns what is stored into something only its owner can read. Both ways must agree for ever. */
export interface PayloadCodec {
  /** Stored with every value, so that a reader knows which codec and which key it needs. */
  encode(bytes: Uint8Array): EncodedPayload | Promise<EncodedPayload>;
  decode(encoded: EncodedPayload): Uint8Array | Promise<Uint8Array>;
}

export interface EncodedPayload {
  /** Names codec and key: `aes-256-gcm:2026-11`. */
  readonly by: string;
  readonly bytes: Uint8Array;
}

export interface PayloadLimits {
  /** Larger values are kept apart from the row. */
  readonly inlineBytesMax: number;
  /** Larger values are refused. */
  readonly bytesMax: number;
}

export const DEFAULT_LIMITS: PayloadLimits = Object.freeze({
  inlineBytesMax: 64 * 1024,
  bytesMax: 16 * 1024 * 1024,
});

const UNDEFINED = '{}' as Payload;

/** Bytes as they are stored; `by` when they went through the codec. */
export interface Sealed {
  readonly bytes: Uint8Array;
  readonly by?: string;
}

export class PayloadTooLarge extends Fault {
  override readonly name = 'PayloadTooLarge';

  constructor(what: string, bytes: number, bytesMax: number) {
    super(
      'payload-too-large',
      `${what} has ${bytes} bytes; at most ${bytesMax} can be stored. Store it where large data lives and pass a reference, or raise payloads.bytesMax.`,
    );
  }
}

export class Payloads {
  readonly #store: PayloadStore;
  readonly #limits: PayloadLimits;
  readonly #codec: PayloadCodec | undefined;

  constructor(store: PayloadStore, limits: PayloadLimits, codec: PayloadCodec | undefined) {
    this.#store = store;
    this.#limits = limits;
    this.#codec = codec;
  }

  /**
   * Synchronous for what is small, which is nearly everything, unless the codec is not. Where the value goes on
   * being used, as `live`, that becomes what `decode` would give.
   */
  encode(what: string, value: unknown, live?: { value: unknown }): Payload | Promise<Payload> {
    const json = toJson(what, value, live);
    if (json === undefined) return UNDEFINED;
    const { inlineBytesMax } = this.#limits;
    // Three bytes a character at most: the cheap bound first.
    const isSmall = json.length * 3 <= inlineBytesMax || Buffer.byteLength(json) <= inlineBytesMax;
    if (isSmall && this.#codec === undefined) return `{"v":${json}}` as Payload;
    const plain = Buffer.from(json);
    const { bytesMax } = this.#limits;
    if (plain.length > bytesMax) throw new PayloadTooLarge(what, plain.length, bytesMax);
    const sealed = this.seal(plain);
    return sealed instanceof Promise
      ? sealed.then((settled) => this.#wrap(settled))
      : this.#wrap(sealed);
  }

  /** Through the codec, if there is one. */
  seal(bytes: Uint8Array): Sealed | Promise<Sealed> {
    if (this.#codec === undefined) return { bytes };
    const encoded: unknown = this.#codec.encode(bytes);
    return isThenable(encoded)
      ? Promise.resolve(encoded).then(encodedBytes)
      : encodedBytes(encoded);
  }

  async unsealAttachment({ bytes, sealed }: Attachment): Promise<Uint8Array> {
    if (sealed === undefined) return bytes;
    // A codec may answer with its own kind of bytes, or with a part of a larger buffer.
    return Uint8Array.from(await this.#unseal({ bytes, by: sealed.by }));
  }

  /** As they were before `seal`. */
  async #unseal({ bytes, by }: Sealed): Promise<Uint8Array> {
    if (by === undefined) return bytes;
    if (this.#codec === undefined) {
      throw new Fault(
        'codec-missing',
        `A value was stored through the codec "${by}" and this process has none. Open Holdfast with the same codec and its keys.`,
      );
    }
    const plain: unknown = await this.#decoded(this.#codec, { by, bytes });
    if (plain instanceof Uint8Array) return plain;
    throw new Fault('codec-broken', `The codec did not answer with bytes when it read "${by}".`);
  }

  /** Throws for what could never be stored. */
  check(what: string, value: unknown): void {
    const bytes = Buffer.byteLength(toJson(what, value) ?? '');
    const { bytesMax } = this.#limits;
    if (bytes > bytesMax) throw new PayloadTooLarge(what, bytes, bytesMax);
  }

  /** For where nothing may be awaited: inside a transaction of the user's. */
  encodeInline(what: string, value: unknown, live?: { value: unknown }): Payload {
    const payload = this.encode(what, value, live);
    if (!(payload instanceof Promise)) return payload;
    payload.catch(() => undefined);
    throw new Fault(
      'payload-not-inline',
      `${what} is made inside a transaction, where nothing can be awaited: it must fit ${this.#limits.inlineBytesMax} bytes, and the codec must be synchronous. Return less, such as an id.`,
    );
  }

  decode(payload: Payload): unknown {
    return this.decodeEnvelope(JSON.parse(payload) as Envelope);
  }

  /** What a caller hands in need not be a payload. */
  async decodeGiven(payload: unknown): Promise<unknown> {
    return this.decodeEnvelope(parseEnvelope(payload));
  }

  /** A promise only when it was encoded or kept apart. */
  decodeEnvelope(envelope: object): unknown {
    const { v, enc, ref, by } = envelope as Envelope;
    if (enc === undefined && ref === undefined) return v;
    return this.#decodeApart({ ...(enc && { enc }), ...(ref && { ref }), ...(by && { by }) });
  }

  #wrap(sealed: Sealed): Payload | Promise<Payload> {
    const { bytes } = sealed;
    const by = sealed.by === undefined ? '' : `,"by":${JSON.stringify(sealed.by)}`;
    if (bytes.length <= this.#limits.inlineBytesMax) {
      return `{"enc":"${Buffer.from(bytes).toString('base64')}"${by}}` as Payload;
    }
    const digest = digestOf(bytes);
    const payload = `{"ref":"${digest}","size":${bytes.length}${by}}` as Payload;
    return this.#store.putBlob({ digest, bytes }).then(() => payload);
  }

  async #decodeApart({ enc, ref, by }: Envelope): Promise<unknown> {
    const bytes = enc === undefined ? await this.#fetch(ref ?? '') : Buffer.from(enc, 'base64');
    const plain = await this.#unseal({ bytes, ...(by === undefined ? {} : { by }) });
    try {
      return JSON.parse(Buffer.from(plain).toString());
    } catch (cause) {
      const whose =
        by === undefined ? 'was not stored by Holdfast' : `is not what "${by}" was given`;
      throw new Fault('codec-refused', `A value cannot be read: it ${whose}.`, { cause });
    }
  }

  async #decoded(codec: PayloadCodec, encoded: EncodedPayload): Promise<unknown> {
    try {
      return await codec.decode(encoded);
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault(
        'codec-refused',
        `A value that "${encoded.by}" has encoded cannot be read: ${thrownText(cause)}`,
        { cause },
      );
    }
  }

  async #fetch(digest: string): Promise<Uint8Array> {
    const bytes = await this.#store.getBlob(digest);
    if (bytes === undefined) {
      throw new StoreCorrupt(`The value ${digest} is referred to and not stored.`);
    }
    if (digestOf(bytes) !== digest) {
      throw new StoreCorrupt(`The value ${digest} was changed after it was stored.`);
    }
    return bytes;
  }
}

/** A codec that answers with something else must not have the value stored as it is. */
function encodedBytes(encoded: unknown): Sealed {
  const { by, bytes } = (encoded ?? {}) as Partial<EncodedPayload>;
  if (typeof by === 'string' && by !== '' && bytes instanceof Uint8Array) return { by, bytes };
  throw new Fault(
    'codec-broken',
    'The codec did not answer with { by, bytes }: a name that is not empty and a Uint8Array. Nothing was stored.',
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
