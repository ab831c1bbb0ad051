// The resource that the workers write to: a ledger of payments in its own database, without leases. One
// condition in one statement makes it safe: it refuses a fence that is lower than the highest it has seen.

import { DatabaseSync } from 'node:sqlite';

export interface Payment {
  readonly fence: number;
  readonly worker: string;
  readonly invoice: number;
}

export type PaymentResult =
  | { readonly kind: 'paid' }
  | { readonly kind: 'refused'; readonly newest: number };

const TABLE = `
  create table if not exists payment (
    line    integer primary key,
    fence   integer not null,
    worker  text not null,
    invoice integer not null
  )`;

const PAY_CHECKED = `
  insert into payment (fence, worker, invoice)
  select :fence, :worker, :invoice
   where :fence >= (select coalesce(max(fence), 0) from payment)`;

const PAY_UNCHECKED = `
  insert into payment (fence, worker, invoice)
  values (:fence, :worker, :invoice)`;

export class Ledger {
  readonly #database: DatabaseSync;
  readonly #pay: string;

  constructor(file: string, checksFences: boolean) {
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#database.exec('pragma journal_mode = wal');
    this.#database.exec(TABLE);
    this.#pay = checksFences ? PAY_CHECKED : PAY_UNCHECKED;
  }

  pay({ fence, worker, invoice }: Payment): PaymentResult {
    const { changes } = this.#database.prepare(this.#pay).run({ fence, worker, invoice });
    if (changes === 1) return { kind: 'paid' };
    return {
      kind: 'refused',
      newest: Math.max(...this.payments().map((payment) => payment.fence)),
    };
  }

  payments(): readonly Payment[] {
    const rows = this.#database
      .prepare('select fence, worker, invoice from payment order by line')
      .all();
    return rows.map((row) => ({
      fence: Number(row['fence']),
      worker: String(row['worker']),
      invoice: Number(row['invoice']),
    }));
  }

  isPaid(invoice: number): boolean {
    return this.payments().some((payment) => payment.invoice === invoice);
  }

  close(): void {
    this.#database.close();
  }
}
