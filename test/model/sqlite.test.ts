import { registerModel } from './register.ts';

registerModel('sqlite');
