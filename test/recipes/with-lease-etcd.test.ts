import { etcdBackend } from '../processes/stage/backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { registerWithLease } from './with-lease.ts';

registerWithLease(etcdBackend(etcdForTests));
