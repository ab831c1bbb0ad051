import { etcdForTests } from '../services/etcd.ts';
import { registerLeaseRun } from './lease-run.ts';

registerLeaseRun('etcd', async () => {
  const { endpoints, prefix, release } = await etcdForTests();
  const members = endpoints.map((endpoint) => new URL(endpoint).host).join(',');
  return { flags: ['--store', `etcd://${members}/${prefix}`], end: release };
});
