// Documents of an execution, stored in the transaction that records them.

import type { CallKey, Payload } from '../../execution/names.ts';
import type { Attachment } from '../../store/contract/execution-store.ts';
import type { Call } from '../call.ts';
import type { Opening, Settlement } from '../ledger.ts';
import type { Run } from '../run.ts';

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

  start(_opening: Opening | undefined): void {
    const { key } = this;
    const { name, type, bytes } = this.#attachment;
    const body = { key, type, bytes: bytes.length };
    this.#run.active(1);
    this.#run.journal.record({
      event: { kind: 'attached', name, body: JSON.stringify(body) as Payload },
      attachment: this.#attachment,
      stored: (at) => {
        this.#run.settle({ kind: 'attached', body: { key }, at, seq: 0 });
        this.#run.active(-1);
      },
    });
  }

  settle(_settlement: Settlement): void {
    this.#resolve();
  }

  reject(error: Error): void {
    this.#reject(error);
  }
}
