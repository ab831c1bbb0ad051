// A payment provider that executes every call, also repeated ones. It can look up a call by its idempotency
// key.

import { Journal } from '../journal.ts';

export interface ProviderCall {
  readonly idempotencyKey: string;
  readonly action: string;
}

export class Provider {
  readonly #journal: Journal<ProviderCall>;

  constructor(file: string) {
    this.#journal = new Journal(file);
  }

  do(call: ProviderCall): void {
    this.#journal.append(call);
  }

  has(idempotencyKey: string): boolean {
    return this.calls().some((call) => call.idempotencyKey === idempotencyKey);
  }

  calls(): readonly ProviderCall[] {
    return this.#journal.entries();
  }
}
