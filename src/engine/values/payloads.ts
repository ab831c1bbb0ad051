// Values ↔ payloads. A payload is a JSON envelope (envelope.ts). What is kept apart because it is large is
// written before anything refers to it, and its digest is checked when it is read (claim check).

import { DEFAULT_PROJECT, type ProjectName, parseProject } from '../../execution/names.ts';
import type { Attachment } from '../../store/contract/execution-store.ts';
import type { BlobStore } from '../../store/contract/payload-store.ts';
import { Fault } from '../../support/fault.ts';
import { readOptions, thrownText } from '../../support/options.ts';
import { toText } from '../../support/value.ts';
import { notSealed, parseEnvelope } from './envelope.ts';
import { ProjectPayloads } from './project-payloads.ts';

/** Turns what is stored into something only its owner can read. Both ways must agree for ever. */
export interface PayloadCodec {
  /** `by` of the result is stored with every value, so that a reader knows which codec and which key it needs. */
  encode(bytes: Uint8Array, context?: PayloadContext): EncodedPayload | Promise<EncodedPayload>;
  decode(encoded: EncodedPayload, context?: PayloadContext): Uint8Array | Promise<Uint8Array>;
  /** Values that did not go through a codec are refused. Default false. */
  readonly required?: boolean;
}

/** What a codec binds a value to, so that it cannot be read anywhere else. */
export interface PayloadContext {
  /** Project, owner and position: `default 01a1e023-… input`. */
  readonly at: string;
}

export interface EncodedPayload {
  /** Names codec and key: `aes-256-gcm:2026-11`. */
  readonly by: string;
  readonly bytes: Uint8Array;
  /** The `at` that the codec bound the value to. Without it, `decode` gets no context. */
  readonly at?: string;
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

/** Bytes as they are stored; `by` and `at` when they went through the codec. */
export interface Sealed {
  readonly bytes: Uint8Array;
  readonly by?: string;
  readonly at?: string;
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
  readonly #store: BlobStore;
  readonly #limits: PayloadLimits;
  readonly #codec: PayloadCodec | undefined;
  #last: ProjectPayloads | undefined;

  constructor(store: BlobStore, limits: PayloadLimits, codec: PayloadCodec | undefined) {
    this.#store = store;
    this.#limits = limits;
    this.#codec = codec;
  }

  get limits(): PayloadLimits {
    return this.#limits;
  }

  get hasCodec(): boolean {
    return this.#codec !== undefined;
  }

  /** What is kept apart is of a project. The last is kept: nearly always it is the one that is asked for again. */
  of(project: ProjectName): ProjectPayloads {
    if (this.#last?.project === project) return this.#last;
    this.#last = new ProjectPayloads(this, this.#store, project);
    return this.#last;
  }

  /** What a caller hands in need not be a payload. */
  async decodeGiven(payload: unknown, options: { readonly project?: string }): Promise<unknown> {
    const { project } = readOptions('decode', options, ['project']);
    const own = this.of(project === undefined ? DEFAULT_PROJECT : parseProject(project));
    return own.decodeEnvelope(parseEnvelope(payload));
  }

  /** Through the codec, if there is one. */
  seal(bytes: Uint8Array, at?: string): Sealed | Promise<Sealed> {
    if (this.#codec === undefined) return { bytes };
    const encoded: unknown = this.#codec.encode(bytes, at === undefined ? undefined : { at });
    return isThenable(encoded)
      ? Promise.resolve(encoded).then(encodedBytes)
      : encodedBytes(encoded);
  }

  /** Whether what is stored in the clear is refused. */
  get requiresCodec(): boolean {
    return this.#codec?.required === true;
  }

  /** `at` is where it was found: one that was moved there is refused, unless it was sealed before places were. */
  async unsealAttachment({ bytes, sealed }: Attachment, at: string): Promise<Uint8Array> {
    if (sealed === undefined) {
      if (this.requiresCodec) throw notSealed('An attachment');
      return bytes;
    }
    const { by } = sealed;
    const content = await this.unseal({ bytes, by, at }).catch((refusal: unknown) => {
      // What is bound to another place cannot be read without one either.
      return this.unseal({ bytes, by }).catch(() => {
        throw refusal;
      });
    });
    // A codec may answer with its own kind of bytes, or with a part of a larger buffer.
    return Uint8Array.from(content);
  }

  /** As they were before `seal`. */
  async unseal({ bytes, by, at }: Sealed): Promise<Uint8Array> {
    if (by === undefined) return bytes;
    if (this.#codec === undefined) {
      throw new Fault(
        'codec-missing',
        `A value was stored through the codec "${by}" and this process has none. Open Holdfast with the same codec and its keys.`,
      );
    }
    const plain: unknown = await this.#decoded(this.#codec, { by, bytes }, at);
    if (plain instanceof Uint8Array) return plain;
    throw new Fault('codec-broken', `The codec did not answer with bytes when it read "${by}".`);
  }

  /** Throws for what could never be stored. */
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
        `A value that "${encoded.by}" has encoded cannot be read: ${thrownText(cause)}`,
        { cause },
      );
    }
  }
}

/** A codec that answers with something else must not have the value stored as it is. */
function encodedBytes(encoded: unknown): Sealed {
  const { by, bytes, at } = (encoded ?? {}) as Partial<EncodedPayload>;
  const isNamed = typeof by === 'string' && by !== '';
  if (isNamed && bytes instanceof Uint8Array) {
    return { by, bytes, ...(typeof at === 'string' ? { at } : {}) };
  }
  throw new Fault(
    'codec-broken',
    'The codec did not answer with { by, bytes }: a name that is not empty and a Uint8Array. Nothing was stored.',
  );
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}
