import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerWatchdogSession } from './watchdog-session.ts';

// A thread needs only the address of a store, which test/redis checks in every run.
registerWatchdogSession(redisBackend(startRedis));
