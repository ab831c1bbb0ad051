// Every time and size in the guide's prose equals a constant, or is listed with a reason.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '../..');
const DOCS = join(ROOT, 'docs');

/** The place of a value: a file of `src` and a name in it. */
interface Source {
  readonly file: string;
  readonly name: string;
}

const at = (file: string, name: string): Source => ({ file, name });

const MAINTAIN = at('engine/worker/duties.ts', 'MAINTAIN_MS');
const KEY_CACHE = at('server/gate.ts', 'KEY_CACHE_MS');
const BODY = at('server/server-options.ts', 'bodyBytesMax');
const INLINE = at('engine/values/payloads.ts', 'inlineBytesMax');
const RELAY = at('server/server-options.ts', 'relayAnswersMs');
const CLEANUP = at('engine/run/calls/scope.ts', 'CLEANUP_MS');
const SLEEP = at('support/options.ts', 'TEN_YEARS_MS');
const TTL = at('lease/session-options.ts', 'TTL_MS_DEFAULT');

/** P4: the bound of a takeover after the ttl. */
const P4 = 'the bound of promise P4, which test/engine/takeover-in-time.test.ts checks';
const MEASURED = 'measured, in a test or by a recording';
const EXAMPLE = 'an example, or a figure of speech';

const FIGURES: Readonly<
  Record<string, Readonly<Record<string, string | Source | readonly Source[]>>>
> = {
  'start/choose.md': { 'five minutes': EXAMPLE },
  'start/five-minutes.md': {
    'five minutes': EXAMPLE,
    '3 s': EXAMPLE,
    'two seconds': P4,
  },
  'metrics.md': { '93 days': 'keepMs of the coarsest rollup in features/overview/model.ts' },
  'runbook.md': {
    '30 seconds': at('protocol/push/push-options.ts', 'cooldownMs'),
    'three days': 'the alert rules',
  },
  'tuning-ttls.md': {
    '120 s': 'a goal of a preset, in the table of src/observe',
    '15 s': TTL,
    '60 s': 'a goal of a preset, in the table of src/observe',
  },
  'compare/coming-from-dbos.md': { 'two seconds': P4 },
  'compare/dbos.md': {
    'two seconds': P4,
    '60 s': 'the default of DBOS Conductor, by its documentation',
  },
  'compare/hatchet.md': {
    '60 s': 'a default of Hatchet, by its documentation',
    '5 minutes': 'a default of Hatchet, by its documentation',
  },
  'compare/inngest.md': {
    '4 MiB': 'a limit of Inngest, by its documentation',
    '32 MiB': 'a limit of Inngest, by its documentation',
  },
  'compare/temporal.md': {
    '16 MiB': at('engine/values/payloads.ts', 'bytesMax'),
    '64 KiB': INLINE,
  },
  'concepts/leases-and-fences.md': { '15 s': TTL, '2 s': EXAMPLE },
  'concepts/not-promised.md': { '2 s': P4 },
  'concepts/releases.md': { 'thirty days': EXAMPLE },
  'concepts/ttl-advice.md': {
    '461 hours': MEASURED,
    '500 hours': MEASURED,
    '150 hours': MEASURED,
  },
  'configure.md': {
    '32 MiB': BODY,
    '128 MiB': at('server/server-options.ts', 'historyBytesMax'),
    '1 MiB': at('server/bodies.ts', 'PLAIN_BYTES_MAX'),
    '64 KiB': at('server/bodies.ts', 'PUBLIC_BYTES_MAX'),
  },
  'console.md': {
    '5 s': KEY_CACHE,
    'five minutes': 'the name of a page',
    '4 s': at('../console/src/api/contact.ts', 'PING_MS'),
    '12 s': 'three times PING_MS of the console',
  },
  'deploy.md': {
    '35 seconds': 'limits.requestMs, and five seconds more',
    '5 seconds': 'preStop in deploy/kubernetes/holdfast.yaml',
  },
  'elect.md': {
    'two seconds': P4,
    '5 s': at('recipes/standing-session.ts', 'BACKOFF_MS_MAX'),
    'five seconds': at('lease/acquire-lease.ts', 'POLL_MS_HINTED'),
  },
  'high-availability.md': {
    'two seconds': P4,
    '3 s': 'TTL_MS in test/chaos/stage.ts',
    '6.2 s': MEASURED,
    '7.6 s': MEASURED,
    '20.7 s': MEASURED,
    '1 s': EXAMPLE,
    'one second': EXAMPLE,
  },
  'http-workers.md': { 'two seconds': P4 },
  'once.md': { '256 KiB': at('lease/policy.ts', 'checkpointBytesMax') },
  'semaphore.md': { 'two seconds': P4 },
  'lease-run.md': { 'two seconds': P4, '256 KiB': at('lease/policy.ts', 'checkpointBytesMax') },
  'leases-over-http.md': {
    '5 s': at('lease/acquire-lease.ts', 'POLL_MS_HINTED'),
    '10 s': at('worker/open-coordinator.ts', 'CONNECT_MS'),
    '512 bytes': at('lease/names.ts', 'KEY_BYTES_MAX'),
  },
  'keys.md': {
    '5 s': KEY_CACHE,
    '10 s': 'a check every KEY_CACHE_MS, of a key that was read up to KEY_CACHE_MS before',
    'one hour': at('features/access/routes.ts', 'ROTATION_MS'),
  },
  'projects.md': {
    '8 KiB': at('support/turns.ts', 'BYTES_PER_WEIGHT'),
    '100 GiB': at('features/access/model.ts', 'BYTES'),
  },
  'proxy.md': { '32 MiB': BODY, '60 s': at('protocol/messages/words.ts', 'WAIT_MS_MAX') },
  'push-endpoints.md': {
    '30 s': [
      at('protocol/push/push-options.ts', 'cooldownMs'),
      at('protocol/push/push-options.ts', 'probeMs'),
    ],
    '2 s': at('worker/pushed-store.ts', 'REPLY_TIMEOUT_MS'),
    '1 s': at('protocol/push/call-endpoint.ts', 'FIRST_MS'),
    '4 s': 'four times the first pause, which doubles with each failed call',
    '60 s': at('protocol/push/call-endpoint.ts', 'LONGEST_MS'),
  },
  'release-workers.md': { '5 s': at('engine/worker/announcer.ts', 'watched') },
  'rest.md': {
    '1 KiB': at('server/compression.ts', 'BYTES_MIN'),
    '15 s': at('protocol/rest/events.ts', 'KEEP_ALIVE_MS'),
    '10 s': RELAY,
    '4 MiB': at('support/page-size.ts', 'CHARS_MAX'),
  },
  'testing.md': { '16 MiB': at('engine/saved-history.ts', 'SIZE_MAX') },
  'call-the-coordinator.md': { '25 seconds': at('client/executions.ts', 'HELD_MS') },
  'security.md': { '5 s': KEY_CACHE },
  'sizing.md': {
    '64 KiB': INLINE,
    '16 MiB': at('engine/values/payloads.ts', 'bytesMax'),
    '256 MiB': 'deploy/kubernetes/holdfast.yaml, which test/docs/operate.test.ts checks',
    '1 GiB': 'deploy/kubernetes/holdfast.yaml, which test/docs/operate.test.ts checks',
  },
  'sqs-workers.md': {
    '30 s': at('server/transports.ts', 'VISIBLE_MS'),
    '15 s': at('protocol/messages/envelope.ts', 'REPLY_TIMEOUT_MS'),
  },
  'erasure.md': {
    '64 KiB': INLINE,
    '10 minutes': at('features/erasure/model.ts', 'PUT_BEFORE_MS'),
  },
  'etcd.md': {
    '0.6 s': MEASURED,
    '2 s': MEASURED,
    '2.6 s': MEASURED,
    'two seconds': MEASURED,
    '10 s': MEASURED,
    '15 s': TTL,
  },
  'retention.md': { '64 KiB': INLINE },
  'webhooks.md': {
    '5 s': 'RETRY_MS in features/channels/model.ts',
    '10 s': 'COOLDOWN_MS in features/channels/model.ts',
    'ten minutes': 'COOLDOWN_MAX_MS in features/channels/model.ts',
    '15 minutes': 'DEFAULT_ALERTS in features/channels/alerts-model.ts',
    'one minute': 'DEFAULT_ALERTS in features/channels/alerts-model.ts',
  },
  'answers-by-webhook.md': {
    'five minutes': 'ANSWER_AGE_MS in features/channels/routes.ts',
    '14 days': 'OLDEST_MS in protocol/sqs/read-answers.ts',
  },
  'answer-links.md': { '32 bytes': at('features/awaits/links-api.ts', 'SECRET_BYTES_MIN') },
  'schedules.md': { '20 seconds': MAINTAIN },
  'pipelines.md': {
    '1.6 seconds': 'eight times initialMs, which src/execution/failure.test.ts checks',
  },
  'rolling-deploys.md': { '100 ms': at('engine/config.ts', 'DRIFT_GRACE_MS') },
  'lease-blocks.md': {
    '10 s': 'QUEUE_PARTS times parkAfterMs',
    '1 s': at('engine/run/calls/lease.ts', 'RETRY_MS_MIN'),
    '60 s': at('engine/run/calls/lease.ts', 'RETRY_MS_MAX'),
    '512 bytes': at('lease/names.ts', 'KEY_BYTES_MAX'),
  },
  'long-steps.md': {
    '16,384 bytes': at('engine/run/calls/attempt.ts', 'DETAILS_BYTES_MAX'),
  },
  'steps.md': { '100 ms': at('engine/config.ts', 'parkAfterMs') },
  'transactions.md': { '64 KiB': INLINE },
  'values.md': {
    '64 KiB': INLINE,
    '16 MiB': at('engine/values/payloads.ts', 'bytesMax'),
  },
  'encryption.md': { '49 days': '2^32 values at 1,000 a second' },
  'cancel.md': { '20 seconds': MAINTAIN, '5 minutes': CLEANUP },
  'updates.md': {
    'ten seconds': at('features/updates/api.ts', 'REPLY_MS'),
    '20 ms': at('features/updates/api.ts', 'POLL_FIRST_MS'),
  },
  'waiting.md': { 'ten years': SLEEP, '20 seconds': MAINTAIN },
  'workers.md': {
    'two seconds': P4,
    '1 s': at('execution/decide/suspect.ts', 'minMs'),
  },
  'guard-http.md': { 'two seconds': at('guards/postgres-marks.ts', 'WORK_MS') },
  'sqlite-to-postgresql.md': {
    'half a minute': at('engine/worker/claim-loop.ts', 'SEALED_PAUSE_MS'),
  },
  'pool.md': { 'two seconds': P4 },
  'watchdog-session.md': { 'two seconds': P4 },
  'redis.md': {
    '15 s': at('store/redis/connect.ts', 'silenceMs'),
    '5 s': at('store/redis/connect.ts', 'connectTimeoutMs'),
    'two seconds': 'what `appendfsync everysec` of the server promises',
  },
  'registry.md': { '15 s': at('lease/policy.ts', 'breakerHoldMs') },
  'stores.md': { 'two minutes': at('store/sqlite/store-clock.ts', 'HOLD_MS') },
  'with-lease.md': { 'two seconds': P4 },
};

const NUMBERS: Readonly<Record<string, number>> = {
  ...{ 'half a': 0.5, one: 1, two: 2, three: 3, four: 4, five: 5, six: 6, seven: 7, eight: 8 },
  ...{ nine: 9, ten: 10, twelve: 12, fifteen: 15, twenty: 20, thirty: 30, sixty: 60 },
};

const UNITS: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1_000, second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 },
  ...{ year: 366 * 86_400_000, byte: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 },
};

const FIGURE = new RegExp(
  `(?<![\\w.,-])(\\d[\\d.,]*|${Object.keys(NUMBERS).join('|')}) (ms|s|(?:second|minute|hour|day|year|byte)s?|[KMG]iB)(?![\\w-])`,
  'gi',
);

/** In milliseconds or bytes. */
function amountOf(figure: string): number {
  const [, number = '', unit = ''] = new RegExp(FIGURE, 'i').exec(figure) ?? [];
  const count = NUMBERS[number.toLowerCase()] ?? Number(number.replaceAll(',', ''));
  return count * (UNITS[unit] ?? UNITS[unit.replace(/s$/, '')] ?? Number.NaN);
}

function valueAt({ file, name }: Source): number {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8');
  const found = new RegExp(`\\b${name}(?:: number)?\\s*(?:=|:|\\?\\?)\\s*(\\d[\\d_* ]*)`).exec(
    text,
  );
  assert.ok(found?.[1] !== undefined, `${file} defines no number ${name}`);
  return found[1]
    .split('*')
    .reduce((product, part) => product * Number(part.replaceAll('_', '')), 1);
}

/** Page by page, without code, each figure once. */
function figuresOfGuide(): ReadonlyMap<string, ReadonlySet<string>> {
  const pages = readdirSync(DOCS, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(?:start|guides?|concepts|operate|compare)\/.*\.md$/.test(file),
  );
  return new Map(
    pages.map((path) => {
      const page = path.replace(/^(?:guides?|operate)\//, '');
      const text = readFileSync(join(DOCS, path), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
      const figures = text.replaceAll(/\s+/g, ' ').match(FIGURE) ?? [];
      return [page, new Set(figures.map((figure) => figure.replace(/^[A-Z]/, lower)))];
    }),
  );
}

const lower = (letter: string): string => letter.toLowerCase();

test('every time and size in the guide equals its constant', () => {
  for (const [page, figures] of figuresOfGuide()) {
    for (const figure of figures) {
      const source = FIGURES[page]?.[figure];
      assert.ok(source !== undefined, `${page} says "${figure}": from where?`);
      if (typeof source === 'string') continue;
      for (const each of [source].flat() as readonly Source[]) {
        const { file, name } = each;
        assert.equal(amountOf(figure), valueAt(each), `${page}: ${figure}, ${file} ${name}`);
      }
    }
  }
});

test('every listed figure is in the guide', () => {
  const found = figuresOfGuide();
  const stale = Object.entries(FIGURES).flatMap(([page, figures]) =>
    Object.keys(figures).flatMap((each) => (found.get(page)?.has(each) ? [] : `${page}: ${each}`)),
  );
  assert.deepEqual(stale, []);
});
