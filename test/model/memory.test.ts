import { registerModel } from './register.ts';

registerModel('memory');
