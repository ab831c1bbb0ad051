import { etcdForTests } from '../services/etcd.ts';
import { registerRace } from './race.ts';
import { etcdBackend } from './stage/backend.ts';

registerRace(etcdBackend(etcdForTests), 1 / 5);
