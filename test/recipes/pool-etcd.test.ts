import { etcdBackend } from '../processes/stage/backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { registerPool } from './pool.ts';

registerPool(etcdBackend(etcdForTests));
