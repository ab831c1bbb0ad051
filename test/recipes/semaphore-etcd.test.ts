import { etcdBackend } from '../processes/stage/backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { registerSemaphore } from './semaphore.ts';

registerSemaphore(etcdBackend(etcdForTests));
