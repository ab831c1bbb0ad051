// Attachments of an execution. The store writes each in the transaction that records it.

import { isUint8Array } from 'node:util/types';
import { type CallKey, OWN_PREFIX } from '../../../execution/names.ts';
import { NAME_BYTES_MAX } from '../../../lease/names.ts';
import type { Attachment } from '../../../store/contract/execution-store.ts';
import { InvalidInput } from '../../../support/fault.ts';
import { boundedText, shown } from '../../../support/options.ts';
import { attachmentAt } from '../../values/place.ts';
import { PromisedCall } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';

/** Checks the arguments and copies the bytes. */
export function attachmentOf(name: unknown, content: unknown, type: unknown): Attachment {
  if (typeof name === 'string' && name.startsWith(OWN_PREFIX)) {
    throw new InvalidInput(
      `ctx.attach: names that begin with ${OWN_PREFIX} are reserved; got ${shown(name)}.`,
    );
  }
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

interface AttachPlan {
  readonly key: CallKey;
  readonly attachment: Attachment;
}

export class AttachCall extends PromisedCall<AttachPlan, void> {
  override start(_opening: Opening | undefined): void {
    this.run.active(1);
    this.#attach().catch((error: unknown) => this.failUnrecorded(error));
  }

  override settle(_settlement: Settlement): void {
    this.promised.resolve();
  }

  /**
   * Attachments are not part of the history, but they are values, so they pass through the codec
   * too.
   */
  async #attach(): Promise<void> {
    const { config, claimed } = this.run;
    const { key, attachment } = this.plan;
    const { name, type, bytes: content } = attachment;
    const sealing = config.payloads.seal(content, attachmentAt(claimed.execution, name));
    const { bytes, by } = sealing instanceof Promise ? await sealing : sealing;
    if (!this.isWanted) return;
    const sealed = by === undefined ? {} : { sealed: { by, size: content.length } };
    this.recordEnd({
      event: { kind: 'attached', name },
      body: { key, type, bytes: content.length },
      attachment: { name, type, bytes, ...sealed },
    });
  }
}
