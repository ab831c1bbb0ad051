import { etcdForTests } from '../services/etcd.ts';
import { registerKill } from './kill.ts';
import { etcdBackend } from './stage/backend.ts';

registerKill(etcdBackend(etcdForTests));
