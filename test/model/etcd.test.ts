import { registerModel } from './register.ts';

registerModel('etcd');
