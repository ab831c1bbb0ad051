// The store that a coordinator here would be on: whether it can be read, its schema, and its clock.

import { inspectStore } from '../embedded/inspect-store.ts';
import { type Config, hidden } from '../server/config.ts';
import type { StoreReport } from '../store/contract/store-report.ts';
import { Fault } from '../support/fault.ts';
import { withoutSecrets } from '../support/hidden-options.ts';
import type { Finding } from './finding.ts';
import { missingOf } from './migrate.ts';

/** By then sessions that are alive may look dead, and the other way round. */
const CLOCK_MS_MAX = 1_000;

export function faultText(fault: unknown): string {
  if (fault instanceof Fault) return fault.message;
  if (fault instanceof Error) return fault.message;
  return String(fault);
}

export async function storeFindings(config: Config): Promise<readonly Finding[]> {
  const store = String(hidden('store', config.store));
  const report = await inspectStore(config.store, config.postgres).catch(unread);
  if ('why' in report) {
    return [{ what: 'store', found: `${store} cannot be read`, change: report.why }];
  }
  return [
    { what: 'store', found: store },
    ...report.facts.map(({ name, ...fact }) => ({ what: name, ...fact })),
    schemaFinding(report),
    clockFinding(report),
  ];
}

/** What is missing on this side says itself what to do. */
function unread(fault: unknown): { readonly why: string } {
  const why = withoutSecrets(faultText(fault)).replace(/\.?$/, '.');
  if (fault instanceof Fault && fault.code === 'driver-missing') return { why };
  return {
    why: `${why} Is it running, is store (--store, HOLDFAST_STORE) right, and may this user read it?`,
  };
}

function schemaFinding(report: StoreReport): Finding {
  const { exists, applied, known, forbidding } = report;
  if (!exists) return { what: 'schema', found: 'new: it is made at the first start' };
  const found = `version ${applied.length}; this build knows ${known.length}`;
  if (forbidding.length > 0) {
    const change = `It was migrated by a newer version, which says that this one must not run (${forbidding.join(', ')}): upgrade this one.`;
    return { what: 'schema', found, change };
  }
  const missing = missingOf(report);
  const isNewer = applied.some((name) => !known.includes(name));
  if (isNewer && missing.length === 0) return { what: 'schema', found: `${found}, and may run` };
  if (missing.length === 0) return { what: 'schema', found };
  return { what: 'schema', found, change: `Run "holdfast migrate": ${missing.join(', ')}` };
}

function clockFinding({ kind, clockAheadMs }: StoreReport): Finding {
  const by = Math.abs(clockAheadMs);
  const way = clockAheadMs > 0 ? 'ahead of' : 'behind';
  const found = by === 0 ? 'as the host’s' : `${by} ms ${way} the host’s`;
  if (by <= CLOCK_MS_MAX) return { what: 'clock of the store', found };
  const change =
    kind === 'sqlite'
      ? 'The host’s clock was ahead once, or was set back since. Store time stays ahead: sleeps until a time of day end early, and schedules fire at wrong times. Set the clock right (NTP), then run: holdfast doctor --set-clock-back'
      : 'Set both right (NTP). The store’s clock decides when sessions expire, the host’s when keys do.';
  return { what: 'clock of the store', found, change };
}
