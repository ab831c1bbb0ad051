import { registerModel } from './register.ts';

registerModel('postgres');
