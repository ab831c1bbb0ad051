import { after, describe } from 'node:test';
import { etcdForTests } from '../services/etcd.ts';
import { isExcluded } from '../services/excluded.ts';
import { etcdBackend } from './etcd-backend.ts';
import { registerLeaseContract } from './register.ts';

/** Each case has a prefix of its own, and most of its time goes by in waiting for three disks. */
const AT_ONCE = 6;

if (isExcluded('etcd')) {
  registerLeaseContract(etcdBackend({ endpoints: [], prefix: '' }), 'etcd was excluded by name');
} else {
  const etcd = await etcdForTests();
  after(() => etcd.release());
  describe('the contract on etcd', { concurrency: AT_ONCE }, () =>
    registerLeaseContract(etcdBackend(etcd)),
  );
}
