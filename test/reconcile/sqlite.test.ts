import { registerBroken } from './register.ts';
import { sqliteWorld } from './worlds.ts';

registerBroken(sqliteWorld);
