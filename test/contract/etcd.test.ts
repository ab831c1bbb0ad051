import { after, describe } from 'node:test';
import { etcdForTests } from '../services/etcd.ts';
import { etcdBackend } from './etcd-backend.ts';
import { registerLeaseContract } from './register.ts';

/** Each case has its own prefix, and mostly waits for etcd. */
const AT_ONCE = 6;

/** The number of cases in `npm test`: each costs etcd at least one write to disk. */
const CASES = 50;

const etcd = await etcdForTests();

describe('the contract on etcd', { concurrency: AT_ONCE }, () =>
  registerLeaseContract(etcdBackend(etcd), CASES),
);

after(() => etcd.release());
