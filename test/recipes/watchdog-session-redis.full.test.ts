import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerWatchdogSession } from './watchdog-session.ts';

// What a thread needs of a store is its address, which test/redis looks at in every run.
registerWatchdogSession(redisBackend(startRedis));
