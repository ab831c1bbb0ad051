// The messages between the demo and its workers.

import type { Exit } from 'holdfast';
import type { PaymentResult } from './ledger.ts';

export const KEY = 'payroll';
export const TTL_MS = 2_000;
/** The last part of the TTL: the lease has lapsed but not expired. Long enough to see both states. */
export const GRACE_MS = 800;
export const INVOICES = 6;
/** Worker A is frozen just before it pays this one. */
export const FATAL_INVOICE = 4;

export interface WorkerOrder {
  readonly name: 'A' | 'B';
  readonly storeFile: string;
  readonly ledgerFile: string;
  readonly checksFences: boolean;
}

export type Report =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'acquired';
      readonly fence: number;
      readonly exit: Exit;
      readonly paid: number;
      readonly intents: readonly string[];
    }
  | { readonly kind: 'reconciled'; readonly effect: string; readonly wasPaid: boolean }
  | { readonly kind: 'paid'; readonly invoice: number }
  | { readonly kind: 'calculating'; readonly invoice: number }
  | {
      readonly kind: 'late';
      readonly ledger: PaymentResult;
      readonly store: string | undefined;
      readonly library: string | undefined;
    }
  | { readonly kind: 'finished' };

export type ReportOf<Kind extends Report['kind']> = Extract<Report, { kind: Kind }>;
