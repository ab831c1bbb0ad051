import { etcdForTests } from '../services/etcd.ts';
import { registerFreeze } from './freeze.ts';
import { etcdBackend } from './stage/backend.ts';

registerFreeze(etcdBackend(etcdForTests));
