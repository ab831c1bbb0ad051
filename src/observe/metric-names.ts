// The metrics of leases: one table for both adapters, the guide and the dashboard. Labels have few
// values. Keys and sessions are never labels, because their number is unlimited.

import type { LeaseReport, OperationReport } from '../lease/observer.ts';

interface Metric {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly unit: '' | 's' | 'By';
  readonly labels: readonly string[];
}

export const METRICS = {
  holdfast_lease_operations_total: {
    kind: 'counter',
    help: 'Calls to the store, by operation and by what became of them.',
    unit: '',
    labels: ['operation', 'outcome'],
  },
  holdfast_lease_operation_seconds: {
    kind: 'histogram',
    help: 'From sending a call to its answer.',
    unit: 's',
    labels: ['operation'],
  },
  holdfast_lease_renewal_slack_seconds: {
    kind: 'histogram',
    help: 'Authority that was left when a renewal was answered: the best sign of trouble to come.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_renewal_attempts: {
    kind: 'histogram',
    help: 'Tries that a renewal took.',
    unit: '',
    labels: [],
  },
  holdfast_lease_event_loop_lag_seconds: {
    kind: 'histogram',
    help: 'The longest that the event loop was late since the report before.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_suspended_seconds_total: {
    kind: 'counter',
    help: 'Time by which the wall clock outran the monotonic one: suspends and set clocks.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_session_changes_total: {
    kind: 'counter',
    help: 'Sessions that lapsed, rejoined, were lost or troubled, or had work that did not stop.',
    unit: '',
    labels: ['change'],
  },
  holdfast_lease_grants_total: {
    kind: 'counter',
    help: 'Leases that were granted, by how the term before had ended.',
    unit: '',
    labels: ['predecessor'],
  },
  holdfast_lease_checkpoint_bytes: {
    kind: 'histogram',
    help: 'Size of accepted checkpoints.',
    unit: 'By',
    labels: [],
  },
  holdfast_lease_checkpoint_interval_seconds: {
    kind: 'histogram',
    help: 'Work between two checkpoints: what a loss makes somebody do again, twice over.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_overrun_seconds: {
    kind: 'histogram',
    help: 'From the end of authority until the work had really stopped.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_ttl_seconds: {
    kind: 'gauge',
    help: 'The ttl that sessions of this owner live by.',
    unit: 's',
    labels: ['owner'],
  },
  holdfast_lease_heartbeat_seconds: {
    kind: 'gauge',
    help: 'How often sessions of this owner renew.',
    unit: 's',
    labels: ['owner'],
  },
  holdfast_lease_grace_seconds: {
    kind: 'gauge',
    help: 'The last part of the ttl, without authority, of sessions of this owner.',
    unit: 's',
    labels: ['owner'],
  },
  holdfast_lease_reports_dropped_total: {
    kind: 'counter',
    help: 'Reports that came faster than the observer took them.',
    unit: '',
    labels: [],
  },
} as const satisfies Readonly<Record<string, Metric>>;

export type MetricName = keyof typeof METRICS;

/** Adds to a counter, sets a gauge, or adds a value to a histogram. */
export type Measure = (
  name: MetricName,
  value: number,
  labels?: Readonly<Record<string, string>>,
) => void;

/** Applies all changes of a report to the metrics. */
export function measureReport(report: LeaseReport, measure: Measure): void {
  switch (report.kind) {
    case 'operation':
      measureOperation(report, measure);
      return;
    case 'settings': {
      const labels = { owner: report.owner };
      measure('holdfast_lease_ttl_seconds', report.ttlMs / 1_000, labels);
      measure('holdfast_lease_heartbeat_seconds', report.heartbeatMs / 1_000, labels);
      measure('holdfast_lease_grace_seconds', report.graceMs / 1_000, labels);
      return;
    }
    case 'overrun':
      if (report.stillRunning) {
        measure('holdfast_lease_session_changes_total', 1, { change: 'overrunning' });
      } else measure('holdfast_lease_overrun_seconds', report.overrunMs / 1_000);
      return;
    case 'dropped':
      measure('holdfast_lease_reports_dropped_total', report.count);
      return;
    case 'lapsed':
    case 'rejoined':
    case 'lost':
    case 'troubled':
      measure('holdfast_lease_session_changes_total', 1, { change: report.kind });
      return;
  }
}

function measureOperation(report: OperationReport, measure: Measure): void {
  const { operation, outcome, granted, saved } = report;
  measure('holdfast_lease_operations_total', 1, { operation, outcome });
  measure('holdfast_lease_operation_seconds', report.latencyMs / 1_000, { operation });
  measure('holdfast_lease_event_loop_lag_seconds', Math.max(0, report.loopLagMs) / 1_000);
  if (report.suspendedMs > 0) {
    measure('holdfast_lease_suspended_seconds_total', report.suspendedMs / 1_000);
  }
  if (granted !== undefined) {
    measure('holdfast_lease_grants_total', 1, { predecessor: granted.predecessor.exit });
  }
  if (outcome !== 'ok') return;
  if (operation === 'heartbeat') {
    const slackMs = Math.max(0, report.remainingAtSendMs - report.latencyMs);
    measure('holdfast_lease_renewal_slack_seconds', slackMs / 1_000);
    measure('holdfast_lease_renewal_attempts', report.attempt ?? 1);
  }
  if (operation === 'checkpoint') {
    measure('holdfast_lease_checkpoint_bytes', report.bytes ?? 0);
    if (saved?.sinceLastMs !== undefined) {
      measure('holdfast_lease_checkpoint_interval_seconds', saved.sinceLastMs / 1_000);
    }
  }
}
