import { join } from 'node:path';
import { registerRollingDeploy } from './rolling-deploy.ts';

registerRollingDeploy('sqlite', (folder) => ({ kind: 'sqlite', file: join(folder, 'hf.db') }));
