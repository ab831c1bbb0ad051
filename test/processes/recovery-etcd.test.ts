import { etcdForTests } from '../services/etcd.ts';
import { registerRecovery } from './recovery.ts';
import { etcdBackend } from './stage/backend.ts';

registerRecovery(etcdBackend(etcdForTests));
