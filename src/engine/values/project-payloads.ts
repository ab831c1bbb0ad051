// Values ↔ payloads, in one project: what is kept apart is put for it, and only what it has is read (X-28).

import type { Payload, ProjectName } from '../../execution/names.ts';
import type { BlobStore } from '../../store/contract/payload-store.ts';
import { digestOf } from '../../support/digest.ts';
import { Fault, StoreCorrupt } from '../../support/fault.ts';
import { fromParsed, toText } from '../../support/value.ts';
import { type Envelope, notSealed } from './envelope.ts';
import type { Payloads, Sealed } from './payloads.ts';
import type { ExpectedPlace, Place } from './place.ts';

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

  /**
   * Synchronous for what is small, which is nearly everything, unless the codec is not.
   */
  encode(
    what: string,
    value: unknown,
    { owner, position, live }: Place,
  ): Payload | Promise<Payload> {
    const text = toText(what, value, live);
    if (text === undefined) return UNDEFINED;
    const { json } = text;
    const mark = text.tagged ? TAGGED : '';
    const { inlineBytesMax } = this.#all.limits;
    // Three bytes a character at most: the cheap bound first.
    const isSmall = json.length * 3 <= inlineBytesMax || Buffer.byteLength(json) <= inlineBytesMax;
    if (isSmall && !this.#all.hasCodec) return `{"v":${json}${mark}}` as Payload;
    const plain = Buffer.from(json);
    this.#all.checkSize(what, plain.length);
    const sealed = this.#all.seal(plain, `${this.project} ${owner} ${position}`);
    return sealed instanceof Promise
      ? sealed.then((settled) => this.#wrap(settled, mark))
      : this.#wrap(sealed, mark);
  }

  /** For where nothing may be awaited: inside a transaction of the user's. */
  encodeInline(what: string, value: unknown, place: Place): Payload {
    const payload = this.encode(what, value, place);
    if (!(payload instanceof Promise)) return payload;
    payload.catch(() => undefined);
    throw new Fault(
      'payload-not-inline',
      `${what} is made inside a transaction, where nothing can be awaited: it must fit ${this.#all.limits.inlineBytesMax} bytes, and the codec must be synchronous. Return less, such as an id.`,
    );
  }

  decode(payload: Payload, place?: ExpectedPlace): unknown {
    return this.decodeEnvelope(JSON.parse(payload) as Envelope, place);
  }

  /** A promise only when it was encoded or kept apart. With a place, a value that was moved there is refused. */
  decodeEnvelope(envelope: object, place?: ExpectedPlace): unknown {
    const { v, enc, ref, by, at, tagged } = envelope as Envelope;
    const isSealed = by !== undefined && (enc ?? ref) !== undefined;
    const isNothing = v === undefined && (enc ?? ref) === undefined;
    if (!isSealed && !isNothing && this.#all.requiresCodec && place?.isOpen !== true) {
      throw notSealed('A value');
    }
    if (isSealed && at !== undefined && place !== undefined) this.#requireAt(at, place);
    if (enc === undefined && ref === undefined) return fromParsed(v, tagged);
    const bound = by === undefined || at === undefined ? {} : { at };
    return this.#decodeApart({
      ...(enc && { enc }),
      ...(ref && { ref }),
      ...(by && { by }),
      ...(tagged && { tagged }),
      ...bound,
    });
  }

  /** That it was sealed for this place is what the codec has checked, or will. */
  #requireAt(at: string, { owners, position }: ExpectedPlace): void {
    const here = owners?.map((owner) => `${this.project} ${owner} ${position}`);
    const isHere =
      here === undefined
        ? at.startsWith(`${this.project} `) && at.endsWith(` ${position}`)
        : here.includes(at);
    if (isHere) return;
    throw new Fault(
      'codec-refused',
      `A value that was sealed for "${at}" was found at "${here?.[0] ?? `${this.project} … ${position}`}": it was moved there in the store.`,
    );
  }

  /** As it is stored; undefined when the project has not got it. */
  async stored(digest: string): Promise<Uint8Array | undefined> {
    const key = { project: this.project, digest };
    const bytes = await this.#store.getBlob(key);
    if (bytes !== undefined) return bytes;
    // Whoever decodes has the reference from a row of the project (X-29).
    await this.#store.attributeBlobs({ project: this.project, digests: [digest] });
    return this.#store.getBlob(key);
  }

  #wrap(sealed: Sealed, mark: string): Payload | Promise<Payload> {
    const { bytes, at } = sealed;
    const bound = at === undefined ? '' : `,"at":${JSON.stringify(at)}`;
    const by = sealed.by === undefined ? '' : `,"by":${JSON.stringify(sealed.by)}${bound}`;
    if (bytes.length <= this.#all.limits.inlineBytesMax) {
      return `{"enc":"${Buffer.from(bytes).toString('base64')}"${by}${mark}}` as Payload;
    }
    const digest = digestOf(bytes);
    const payload = `{"ref":"${digest}","size":${bytes.length}${by}${mark}}` as Payload;
    return this.#store.putBlob({ project: this.project, digest, bytes }).then(() => payload);
  }

  async #decodeApart({ enc, ref, by, at, tagged }: Envelope): Promise<unknown> {
    const bytes = enc === undefined ? await this.#fetch(ref ?? '') : Buffer.from(enc, 'base64');
    const plain = await this.#all.unseal({ bytes, ...(by && { by }), ...(at && { at }) });
    let parsed: unknown;
    try {
      parsed = JSON.parse(Buffer.from(plain).toString());
    } catch (cause) {
      const whose =
        by === undefined ? 'was not stored by Holdfast' : `is not what "${by}" was given`;
      throw new Fault('codec-refused', `A value cannot be read: it ${whose}.`, { cause });
    }
    return fromParsed(parsed, tagged);
  }

  async #fetch(digest: string): Promise<Uint8Array> {
    const bytes = await this.stored(digest);
    if (bytes === undefined) {
      throw new StoreCorrupt(
        `The value ${digest} is referred to and not stored in project "${this.project}".`,
      );
    }
    if (digestOf(bytes) !== digest) {
      throw new StoreCorrupt(`The value ${digest} was changed after it was stored.`);
    }
    return bytes;
  }
}
