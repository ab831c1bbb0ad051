// The last resort: a process that cannot stop its work in time ends itself, at once, so that the work
// ends with it. Nothing is flushed and no handler runs; that is the point.

export function hardExit(): never {
  process.kill(process.pid, 'SIGKILL');
  // The signal is delivered before this returns on every platform we know; do not go on if not.
  for (;;);
}
