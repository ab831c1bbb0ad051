import { after, describe } from 'node:test';
import { etcdForTests } from '../services/etcd.ts';
import { etcdBackend } from './etcd-backend.ts';
import { registerLeaseContract } from './register.ts';

/** Each case has a prefix of its own, and waits for etcd most of its time. */
const AT_ONCE = 6;

/** How many cases `npm test` takes: each costs etcd a write to disk or more. */
const CASES = 50;

const etcd = await etcdForTests();

describe('the contract on etcd', { concurrency: AT_ONCE }, () =>
  registerLeaseContract(etcdBackend(etcd), CASES),
);

after(() => etcd.release());
