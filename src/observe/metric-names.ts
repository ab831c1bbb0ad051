// The metrics of leases: one table for both adapters, the guide and the dashboard. Labels have few
// values; keys and sessions are never among them, since there is no end of those.

export interface Metric {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly unit: '' | 's' | 'By';
  readonly labels: readonly string[];
}

export type MetricName =
  | 'holdfast_lease_operations_total'
  | 'holdfast_lease_operation_seconds'
  | 'holdfast_lease_renewal_slack_seconds'
  | 'holdfast_lease_renewal_attempts'
  | 'holdfast_lease_event_loop_lag_seconds'
  | 'holdfast_lease_suspended_seconds_total'
  | 'holdfast_lease_session_changes_total'
  | 'holdfast_lease_grants_total'
  | 'holdfast_lease_checkpoint_bytes'
  | 'holdfast_lease_checkpoint_interval_seconds'
  | 'holdfast_lease_overrun_seconds'
  | 'holdfast_lease_ttl_seconds'
  | 'holdfast_lease_heartbeat_seconds'
  | 'holdfast_lease_grace_seconds'
  | 'holdfast_lease_reports_dropped_total';

export const METRICS: Readonly<Record<MetricName, Metric>> = {
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
};
