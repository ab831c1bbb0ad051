import { registerBroken } from './register.ts';
import { memoryWorld } from './worlds.ts';

registerBroken(memoryWorld);
