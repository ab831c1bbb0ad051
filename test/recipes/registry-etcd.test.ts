import { etcdBackend } from '../processes/stage/backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { registerRegistry } from './registry.ts';

registerRegistry(etcdBackend(etcdForTests));
