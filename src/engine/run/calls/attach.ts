// Documents of an execution, stored in the transaction that records them.

import { isUint8Array } from 'node:util/types';
import type { CallKey, Payload } from '../../../execution/names.ts';
import type { Attachment } from '../../../store/contract/execution-store.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { boundedText, shown, thrownText } from '../../../support/options.ts';
import type { Sealed } from '../../values/payloads.ts';
import { attachmentAt } from '../../values/place.ts';
import type { Call } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

const NAME_BYTES_MAX = 256;

/** What was given, checked; the bytes are a copy. */
export function attachmentOf(name: unknown, content: unknown, type: unknown): Attachment {
  const ofContent = typeof content === 'string' ? 'text/plain' : 'application/octet-stream';
  return {
    name: boundedText('The name of an attachment', name, NAME_BYTES_MAX),
    type:
      type === undefined
        ? ofContent
        : boundedText('The type of an attachment', type, NAME_BYTES_MAX),
    bytes: contentOf(content),
  };
}

function contentOf(content: unknown): Uint8Array {
  if (isUint8Array(content)) return Uint8Array.from(content);
  if (typeof content === 'string' && content.isWellFormed()) return Buffer.from(content);
  throw new InvalidInput(
    `ctx.attach: content must be well-formed text or a Uint8Array; got ${shown(content)}.`,
  );
}

export class AttachCall implements Call {
  readonly key: CallKey;
  readonly #run: Run;
  readonly #attachment: Attachment;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;

  constructor(
    run: Run,
    plan: { readonly key: CallKey; readonly attachment: Attachment },
    promise: { resolve(): void; reject(error: Error): void },
  ) {
    this.#run = run;
    this.key = plan.key;
    this.#attachment = plan.attachment;
    this.#resolve = promise.resolve;
    this.#reject = promise.reject;
  }

  /** Not part of the history, and yet a value: it goes through the codec like all others. */
  start(_opening: Opening | undefined): void {
    this.#run.active(1);
    let sealed: Sealed | Promise<Sealed>;
    try {
      const { bytes, name } = this.#attachment;
      const { config, claimed } = this.#run;
      sealed = config.payloads.seal(bytes, attachmentAt(claimed.execution, name));
    } catch (error) {
      this.#failed(error);
      return;
    }
    if (!(sealed instanceof Promise)) {
      this.#record(sealed);
      return;
    }
    sealed
      .then(
        (settled) => this.#record(settled),
        (error: unknown) => this.#failed(error),
      )
      .catch((error: unknown) => this.#run.troubled(error));
  }

  settle(_settlement: Settlement): void {
    this.#resolve();
  }

  reject(error: Error): void {
    this.#reject(error);
  }

  #record({ bytes, by }: Sealed): void {
    const run = this.#run;
    if (run.isOver || run.cancelled !== undefined) return;
    const { key } = this;
    const { name, type, bytes: content } = this.#attachment;
    const body = { key, type, bytes: content.length };
    run.journal.record({
      event: { kind: 'attached', name, body: JSON.stringify(body) as Payload },
      attachment: {
        name,
        type,
        bytes,
        ...(by === undefined ? {} : { sealed: { by, size: content.length } }),
      },
      stored: (at) => {
        run.settle({ kind: 'attached', body: { key }, at, seq: 0 });
        run.active(-1);
      },
    });
  }

  /** The codec's fault. Nothing is recorded: a replay asks for it again. */
  #failed(error: unknown): void {
    this.#run.calls.delete(this.key);
    this.#reject(error instanceof Error ? error : new Error(thrownText(error)));
    this.#run.active(-1);
  }
}
