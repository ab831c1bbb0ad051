import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  demandFit,
  describeDurability,
  factsOf,
  isTrusted,
  type ServerConfig,
} from './server-facts.ts';

const CONFIG = {
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  dir: '/data',
  port: '1',
};

const INFO: Readonly<Record<string, string>> = {
  redis_version: '7.0.15',
  redis_mode: 'standalone',
  run_id: 'a1',
  role: 'master',
  connected_slaves: '0',
  master_replid2: '0'.repeat(40),
  aof_enabled: '1',
  maxmemory: '0',
  maxmemory_policy: 'noeviction',
};

function facts(overrides: Readonly<Record<string, string>> = {}, config: ServerConfig = CONFIG) {
  const lines = Object.entries({ ...INFO, ...overrides }).map(
    ([name, value]) => `${name}:${value}`,
  );
  return factsOf(`# Server\r\n${lines.join('\r\n')}\r\n`, config);
}

test('T-4: only a lone server that flushes before every answer is trusted after a restart', () => {
  assert.equal(isTrusted(facts()), true);
  assert.equal(isTrusted(facts({ connected_slaves: '1' })), false);
  assert.equal(isTrusted(facts({ master_replid2: `${'0'.repeat(39)}f` })), false);
  assert.equal(isTrusted(facts({ aof_enabled: '0' })), false);
  assert.equal(isTrusted(facts({}, { ...CONFIG, appendfsync: 'everysec' })), false);
  assert.equal(isTrusted(facts({}, { ...CONFIG, 'no-appendfsync-on-rewrite': 'yes' })), false);
  assert.equal(isTrusted(facts({}, {})), false, 'a server that does not report it');
});

test('another folder or port is another place', () => {
  const { place } = facts();
  assert.equal(facts({ run_id: 'b2' }).place, place);
  assert.notEqual(facts({}, { ...CONFIG, dir: '/other' }).place, place);
  assert.notEqual(facts({ redis_mode: 'cluster' }).place, place);
});

test('the durability text names the failures that a "done" survives', () => {
  assert.match(
    describeDurability(facts()),
    /^the loss of the machine \(AOF, appendfsync always\)$/,
  );
  assert.match(describeDurability(facts({ connected_slaves: '2' })), /always\); a failover may/);
  assert.match(describeDurability(facts({}, {})), /does not report/);
});

test('a server that cannot keep leases is refused with the fix', () => {
  assert.throws(() => demandFit(facts({ redis_version: '6.0.16' }), 'any'), /6\.2 or newer/);
  assert.throws(() => demandFit(facts({ role: 'slave' }), 'any'), /is a replica/);
  const evicting = { maxmemory: '1', maxmemory_policy: 'allkeys-lfu' };
  assert.throws(() => demandFit(facts(evicting), 'any'), /noeviction/);
  assert.throws(() => demandFit(facts({ aof_enabled: '0' }), 'aof'), /appendonly yes/);
  demandFit(facts({ aof_enabled: '0' }), 'any');
  demandFit(facts({ redis_version: '6.2.0' }), 'aof');
  demandFit(facts({ maxmemory_policy: 'volatile-lru', maxmemory: '1' }), 'aof');
});
