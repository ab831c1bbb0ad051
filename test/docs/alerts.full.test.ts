// Prometheus evaluates each alert rule of deploy/: it fires for its problem, and stays silent without it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { debianProgram } from '../services/debian-program.ts';
import { runCommand } from '../services/run-command.ts';

const RULES = join(import.meta.dirname, '../../deploy/prometheus/holdfast.rules.yml');

/** Values in the notation of promtool, one per minute: `start+step x count`. */
type Series = Readonly<Record<string, string>>;

interface AlertCase {
  readonly fires: Series;
  readonly silent: Series;
  readonly labels: Readonly<Record<string, string>>;
  /** When the alert is checked. Default: after 40 minutes. */
  readonly at?: string;
}

const NAMED = { pipeline: 'order' };
const departures = 'holdfast_execution_departures_total{pipeline="order",how="failed"}';
const ended = (status: string): string =>
  `holdfast_executions_ended_total{pipeline="order",status="${status}"}`;
const attempts = (outcome: string): string =>
  `holdfast_steps_total{pipeline="order",outcome="${outcome}"}`;
const embedded = (outcome: string): string =>
  `holdfast_execution_step_seconds_count{pipeline="order",outcome="${outcome}"}`;
const requests = (status: string): string =>
  `holdfast_http_requests_total{route="r",status="${status}"}`;
const change = (kind: string): string =>
  `holdfast_lease_session_changes_total{instance="a",change="${kind}"}`;
const bucket = (name: string, le: string): string => `${name}_bucket{instance="a",le="${le}"}`;
const slots = 'holdfast_worker_slots_free{job="holdfast",state="ready"}';
const workers = 'holdfast_workers{job="holdfast",state="ready"}';

const CASES: Readonly<Record<string, AlertCase>> = {
  HoldfastCoordinatorDown: {
    fires: { 'up{job="holdfast",instance="a"}': '0x60' },
    silent: { 'up{job="holdfast",instance="a"}': '1x60' },
    labels: { job: 'holdfast', instance: 'a' },
  },
  HoldfastServerErrors: {
    fires: { [requests('200')]: '0+90x60', [requests('503')]: '0+10x60' },
    silent: { [requests('200')]: '0+99x60', [requests('503')]: '0+1x60' },
    labels: {},
  },
  HoldfastRequestsLimited: {
    fires: { [requests('429')]: '0+20x60' },
    silent: { [requests('429')]: '0+5x60' },
    labels: { route: 'r' },
  },
  HoldfastNothingClaimed: {
    fires: { 'holdfast_executions_ready{lane="batch"}': '5x60' },
    silent: {
      'holdfast_executions_ready{lane="batch"}': '5x60',
      'holdfast_claims_total{pipeline="order"}': '0+1x60',
    },
    labels: {},
  },
  HoldfastQueueGrows: {
    fires: { 'holdfast_executions_ready{lane="batch"}': '2000x60' },
    silent: { 'holdfast_executions_ready{lane="batch"}': '900x60' },
    labels: { lane: 'batch' },
  },
  HoldfastClaimsLate: {
    fires: {
      [bucket('holdfast_claim_wait_seconds', '60')]: '0+1x60',
      [bucket('holdfast_claim_wait_seconds', '300')]: '0+10x60',
      [bucket('holdfast_claim_wait_seconds', '+Inf')]: '0+10x60',
    },
    silent: {
      [bucket('holdfast_claim_wait_seconds', '60')]: '0+10x60',
      [bucket('holdfast_claim_wait_seconds', '+Inf')]: '0+10x60',
    },
    labels: {},
  },
  HoldfastQueueOld: {
    fires: { 'holdfast_queue_age_seconds{pipeline="order"}': '400x60' },
    silent: { 'holdfast_queue_age_seconds{pipeline="order"}': '30x60' },
    labels: NAMED,
  },
  HoldfastNoWorkers: {
    fires: { [workers]: '0x60' },
    silent: { [workers]: '0x60', 'holdfast_workers{job="holdfast",state="draining"}': '1x60' },
    labels: { job: 'holdfast' },
  },
  HoldfastSlotsFull: {
    fires: { [slots]: '0x60', [workers]: '2x60' },
    silent: { [slots]: '0x60', [workers]: '0x60' },
    labels: { job: 'holdfast' },
  },
  HoldfastQuestionsOld: {
    fires: { 'holdfast_await_age_seconds{pipeline="order"}': '300000x60' },
    silent: { 'holdfast_await_age_seconds{pipeline="order"}': '200000x60' },
    labels: NAMED,
  },
  HoldfastDeadLettersOpen: {
    fires: { 'holdfast_dead_letters_open{pipeline="order"}': '1x1500' },
    silent: { 'holdfast_dead_letters_open{pipeline="order"}': '1x1400 0x100' },
    labels: NAMED,
    at: '25h',
  },
  HoldfastCircuitOpen: {
    fires: { 'holdfast_push_circuit_open{host="shop"}': '1x60' },
    silent: { 'holdfast_push_circuit_open{host="shop"}': '0x60' },
    labels: { host: 'shop' },
  },
  HoldfastExecutionsFail: {
    fires: { [ended('compensated')]: '0x35 1x25' },
    silent: { [ended('completed')]: '0+5x60', [ended('failed')]: '3x60' },
    labels: NAMED,
  },
  HoldfastExecutionsQuarantined: {
    fires: { [ended('quarantined')]: '0x35 1x25' },
    silent: { [ended('failed')]: '0+1x60' },
    labels: NAMED,
  },
  HoldfastStepsRetry: {
    fires: { [attempts('completed')]: '0+6x60', [attempts('retried')]: '0+4x60' },
    silent: { [attempts('completed')]: '0+9x60', [attempts('retried')]: '0+1x60' },
    labels: NAMED,
  },
  HoldfastWorkersLost: {
    fires: { 'holdfast_takeovers_total{pipeline="order"}': '0+2x60' },
    silent: { 'holdfast_takeovers_total{pipeline="order"}': '0x30 5x30' },
    labels: NAMED,
  },
  HoldfastWritesRefused: {
    fires: { 'holdfast_writes_refused_total{pipeline="order",verb="record"}': '0+2x60' },
    silent: { 'holdfast_writes_refused_total{pipeline="order",verb="record"}': '0x30 5x30' },
    labels: NAMED,
  },
  HoldfastEmbeddedExecutionsFail: {
    fires: { [departures]: '0x35 1x25' },
    silent: { [departures.replace('failed', 'completed')]: '0+3x60' },
    labels: { ...NAMED, how: 'failed' },
  },
  HoldfastEmbeddedStepsRetry: {
    fires: { [embedded('completed')]: '0+6x60', [embedded('failed')]: '0+4x60' },
    silent: { [embedded('completed')]: '0+9x60', [embedded('failed')]: '0+1x60' },
    labels: NAMED,
  },
  HoldfastEmbeddedTakeovers: {
    fires: { 'holdfast_execution_claims_total{pipeline="order",previous="lost"}': '0+2x60' },
    silent: { 'holdfast_execution_claims_total{pipeline="order",previous="parked"}': '0+2x60' },
    labels: NAMED,
  },
  HoldfastLeasesLost: {
    fires: { [change('lost')]: '0x35 1x25' },
    silent: { [change('rejoined')]: '0+1x60' },
    labels: { instance: 'a' },
  },
  HoldfastLeaseSlackLow: {
    fires: {
      [bucket('holdfast_lease_renewal_slack_seconds', '0.5')]: '0+5x60',
      [bucket('holdfast_lease_renewal_slack_seconds', '+Inf')]: '0+5x60',
    },
    silent: {
      [bucket('holdfast_lease_renewal_slack_seconds', '5')]: '0x60',
      [bucket('holdfast_lease_renewal_slack_seconds', '10')]: '0+5x60',
      [bucket('holdfast_lease_renewal_slack_seconds', '+Inf')]: '0+5x60',
    },
    labels: { instance: 'a' },
  },
  HoldfastWorkOverruns: {
    fires: { [change('overrunning')]: '0x35 1x25' },
    silent: { [change('lost')]: '0+1x60' },
    labels: { instance: 'a' },
  },
};

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string };
}

const { groups } = parse(readFileSync(RULES, 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);

test('every alert rule has a case', () => {
  assert.deepEqual(
    Object.keys(CASES),
    rules.map(({ alert }) => alert),
  );
});

/** What promtool expects of a rule, with the case's labels in its summary. */
function expected({ labels, annotations }: Rule, own: Readonly<Record<string, string>>): object {
  const summary = annotations.summary.replaceAll(
    /\{\{ \$labels\.(\w+) \}\}/g,
    (_, name: string) => own[name] ?? '',
  );
  return { exp_labels: { ...labels, ...own }, exp_annotations: { summary } };
}

test('each alert fires for its problem, and is silent without it', async (t) => {
  const { path, env } = await debianProgram('promtool', 'prometheus');
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-alerts-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const tests = rules.flatMap((rule) => {
    const { fires, silent, labels, at = '40m' } = CASES[rule.alert] ?? assert.fail(rule.alert);
    return [fires, silent].map((series) => ({
      name: `${rule.alert} ${series === fires ? 'fires' : 'is silent'}`,
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      alert_rule_test: [
        {
          ...{ eval_time: at, alertname: rule.alert },
          exp_alerts: series === fires ? [expected(rule, labels)] : [],
        },
      ],
    }));
  });
  const file = join(folder, 'alerts.yml');
  await writeFile(file, stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  assert.match(await runCommand(path, ['test', 'rules', file], { env }), /SUCCESS/);
});
