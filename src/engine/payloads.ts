// Values ↔ payloads. A payload is a JSON envelope: `{"v":…}` inline, `{"enc":…}` through the codec,
// `{"ref":…}` kept apart because it is large. What is kept apart is written before anything refers to
// it, and its digest is checked when it is read (claim check).

import type { Payload } from '../execution/names.ts';
import type { PayloadStore } from '../store/contract/execution-store.ts';
import { digestOf } from '../support/digest.ts';
import { Fault, StoreCorrupt } from '../support/fault.ts';
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

interface Envelope {
  readonly v?: unknown;
  /** Base64 of the codec's bytes, or the digest of the blob that has them. */
  readonly enc?: string;
  readonly ref?: string;
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

  /** Synchronous for what is small, which is nearly everything, unless the codec is not. */
  encode(what: string, value: unknown): Payload | Promise<Payload> {
    const json = toJson(what, value);
    if (json === undefined) return UNDEFINED;
    const { inlineBytesMax } = this.#limits;
    // Three bytes a character at most: the cheap bound first.
    const isSmall = json.length * 3 <= inlineBytesMax || Buffer.byteLength(json) <= inlineBytesMax;
    if (isSmall && this.#codec === undefined) return `{"v":${json}}` as Payload;
    const plain = Buffer.from(json);
    const { bytesMax } = this.#limits;
    if (plain.length > bytesMax) throw new PayloadTooLarge(what, plain.length, bytesMax);
    const encoded = this.#codec?.encode(plain);
    return encoded instanceof Promise
      ? encoded.then((settled) => this.#wrap(plain, settled))
      : this.#wrap(plain, encoded);
  }

  /** Throws for what could never be stored. */
  check(what: string, value: unknown): void {
    const bytes = Buffer.byteLength(toJson(what, value) ?? '');
    const { bytesMax } = this.#limits;
    if (bytes > bytesMax) throw new PayloadTooLarge(what, bytes, bytesMax);
  }

  /** For where nothing may be awaited: inside a transaction of the user's. */
  encodeInline(what: string, value: unknown): Payload {
    const payload = this.encode(what, value);
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

  /** A promise only when it was encoded or kept apart. */
  decodeEnvelope(envelope: object): unknown {
    const { v, enc, ref, by } = envelope as Envelope;
    if (enc === undefined && ref === undefined) return v;
    return this.#decodeApart({ ...(enc && { enc }), ...(ref && { ref }), ...(by && { by }) });
  }

  #wrap(plain: Uint8Array, encoded: EncodedPayload | undefined): Payload | Promise<Payload> {
    const by = encoded === undefined ? '' : `,"by":${JSON.stringify(encoded.by)}`;
    const bytes = encoded?.bytes ?? plain;
    if (bytes.length <= this.#limits.inlineBytesMax) {
      return `{"enc":"${Buffer.from(bytes).toString('base64')}"${by}}` as Payload;
    }
    const digest = digestOf(bytes);
    const payload = `{"ref":"${digest}","size":${bytes.length}${by}}` as Payload;
    return this.#store.putBlob({ digest, bytes }).then(() => payload);
  }

  async #decodeApart(envelope: Envelope): Promise<unknown> {
    const stored =
      envelope.enc === undefined
        ? await this.#fetch(envelope.ref ?? '')
        : Buffer.from(envelope.enc, 'base64');
    if (envelope.by === undefined) return JSON.parse(Buffer.from(stored).toString());
    if (this.#codec === undefined) {
      throw new Fault(
        'codec-missing',
        `A value was stored through the codec "${envelope.by}" and this process has none. Open Holdfast with the same codec and its keys.`,
      );
    }
    const plain = await this.#codec.decode({ by: envelope.by, bytes: stored });
    return JSON.parse(Buffer.from(plain).toString());
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
