import { registerModel } from './register.ts';

registerModel('redis');
