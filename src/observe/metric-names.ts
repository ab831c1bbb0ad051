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
    help: 'Calls to the store, by operation and outcome.',
    unit: '',
    labels: ['operation', 'outcome'],
  },
  holdfast_lease_operation_seconds: {
    kind: 'histogram',
    help: 'The time from a call to its response.',
    unit: 's',
    labels: ['operation'],
  },
  holdfast_lease_renewal_slack_seconds: {
    kind: 'histogram',
    help: 'The authority left when a renewal succeeded. Low values warn of lost leases.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_renewal_attempts: {
    kind: 'histogram',
    help: 'Attempts per renewal.',
    unit: '',
    labels: [],
  },
  holdfast_lease_event_loop_lag_seconds: {
    kind: 'histogram',
    help: 'The longest delay of the event loop since the previous report.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_suspended_seconds_total: {
    kind: 'counter',
    help: 'The time by which the wall clock ran ahead of the monotonic clock, after a suspend or a clock change.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_session_changes_total: {
    kind: 'counter',
    help: 'Changes of sessions: lapsed, rejoined, lost, troubled, or with work that did not stop.',
    unit: '',
    labels: ['change'],
  },
  holdfast_lease_grants_total: {
    kind: 'counter',
    help: 'Granted leases, by the end of the previous term.',
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
    help: 'The time between two checkpoints. After a loss, the successor repeats half of it on average.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_overrun_seconds: {
    kind: 'histogram',
    help: 'The time from the end of authority until the work stopped.',
    unit: 's',
    labels: [],
  },
  holdfast_lease_ttl_seconds: {
    kind: 'gauge',
    help: 'The ttl of this owner’s sessions.',
    unit: 's',
    labels: ['owner'],
  },
  holdfast_lease_heartbeat_seconds: {
    kind: 'gauge',
    help: 'The heartbeat interval of this owner’s sessions.',
    unit: 's',
    labels: ['owner'],
  },
  holdfast_lease_grace_seconds: {
    kind: 'gauge',
    help: 'The grace of this owner’s sessions: the last part of the ttl, without authority.',
    unit: 's',
    labels: ['owner'],
  },
  holdfast_lease_reports_dropped_total: {
    kind: 'counter',
    help: 'Reports that were dropped because the observer was too slow.',
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
