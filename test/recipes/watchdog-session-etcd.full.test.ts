import { etcdBackend } from '../processes/stage/backend.ts';
import { etcdForTests } from '../services/etcd.ts';
import { registerWatchdogSession } from './watchdog-session.ts';

// Its thread opens the store by its address, as on any other; that takes a while.
registerWatchdogSession(etcdBackend(etcdForTests));
