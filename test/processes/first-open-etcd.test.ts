import { etcdForTests } from '../services/etcd.ts';
import { registerFirstOpen } from './first-open.ts';
import { etcdBackend } from './stage/backend.ts';

registerFirstOpen(etcdBackend(etcdForTests));
