// A payment provider as one meets them: it does what it is asked, twice if it is asked twice, and can
// be asked later what it did under an idempotency key.

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
