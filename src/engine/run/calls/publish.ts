// Values that an execution gives to others while it runs: `ctx.publish`, and replies to updates. Each
// is an attachment with a reserved name, so the owner's write stores it with its event.

import type { CallKey, Payload } from '../../../execution/names.ts';
import { publishedName, replyName, type StoredReply } from '../../../features/updates/model.ts';
import { PromisedCall } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

interface PublishPlan {
  readonly key: CallKey;
  /** The name of the attachment. */
  readonly name: string;
  content(): StoredReply | Promise<StoredReply>;
}

class PublishCall extends PromisedCall<PublishPlan, void> {
  override start(_opening: Opening | undefined): void {
    this.run.active(1);
    this.#publish().catch((error: unknown) => this.failUnrecorded(error));
  }

  override settle(_settlement: Settlement): void {
    this.promised.resolve();
  }

  async #publish(): Promise<void> {
    const { key, name } = this.plan;
    const bytes = Buffer.from(JSON.stringify(await this.plan.content()));
    if (!this.isWanted) return;
    this.recordEnd({
      event: { kind: 'attached', name },
      body: { key },
      attachment: { name, type: 'application/json', bytes },
    });
  }
}

/** Stored as an envelope, like the results of steps. */
async function envelopeOf(
  run: Run,
  { what, value, position }: { readonly what: string; readonly value: unknown; position: string },
): Promise<StoredReply> {
  const place = { owner: run.claimed.execution.id, position };
  const payload: Payload = await run.payloads.encode(what, value, place);
  return { out: JSON.parse(payload) as object };
}

export function publishCall(
  run: Run,
  { key, name, value }: { readonly key: CallKey; readonly name: string; readonly value: unknown },
  promised: PromiseWithResolvers<void>,
): PublishCall {
  const stored = publishedName(name);
  const content = (): Promise<StoredReply> =>
    envelopeOf(run, { what: `The published value "${name}"`, value, position: stored });
  return new PublishCall(run, { key, name: stored, content }, promised);
}

/** The content of a reply: a value, or the reason of a rejection. */
export type ReplyContent = { readonly value: unknown } | { readonly rejected: string };

export function replyCall(
  run: Run,
  { key, token, content }: { readonly key: CallKey; readonly token: string; content: ReplyContent },
  promised: PromiseWithResolvers<void>,
): PublishCall {
  const name = replyName(token);
  const reply = (): StoredReply | Promise<StoredReply> =>
    'rejected' in content
      ? content
      : envelopeOf(run, { what: 'The reply to an update', ...content, position: name });
  return new PublishCall(run, { key, name, content: reply }, promised);
}
