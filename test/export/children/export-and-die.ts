// Exports or imports, and kills itself at the nth progress report.

import {
  type ExportProgress,
  exportStore,
  importStore,
} from '../../../src/embedded/export-store.ts';
import type { Place } from '../exported.ts';

export interface ExportAndDie {
  readonly what: 'export' | 'import';
  readonly place: Place;
  readonly file: string;
  readonly at: number;
}

const { what, place, file, at } = JSON.parse(process.argv[2] ?? '{}') as ExportAndDie;
let reports = 0;
const onProgress = (_: ExportProgress): void => {
  reports += 1;
  if (reports === at) process.kill(process.pid, 'SIGKILL');
};
if (what === 'export') {
  await exportStore({ ...place, to: file, actor: 'olga', reason: 'to a server', onProgress });
} else {
  await importStore({ ...place, from: file, actor: 'olga', onProgress });
}
