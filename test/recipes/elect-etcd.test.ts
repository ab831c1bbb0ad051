import { etcdBackend } from '../processes/stage/backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { registerElect } from './elect.ts';

registerElect(etcdBackend(etcdForTests));
