/** Backends a run may leave out, but only by name on the command line. */
export const BACKENDS: readonly string[] = ['postgres', 'redis', 'etcd', 'pgbouncer'];

/** Whether this run was told to leave a backend out (`npm test -- --without=<backend>`). */
export function isExcluded(backend: string): boolean {
  const names = process.env['HOLDFAST_TEST_WITHOUT'] ?? '';
  return names.split(',').includes(backend);
}

/** Whether this run includes the cases that take minutes (`npm run test:long`). */
export function isLongRun(): boolean {
  return process.env['HOLDFAST_TEST_LONG'] === '1';
}
