// Loaded into every test process. It disables the runner's hooks, ends a process that hangs, and reports
// the CPU time of the process and its ended children.

import hooks from 'node:async_hooks';
import { appendFileSync, readFileSync } from 'node:fs';

const notes = process.env['HOLDFAST_TEST_NOTES'];
const file = process.argv[1];

// Processes that a test forks load this file too. Only the runner's own children report.
if (notes !== undefined && file !== undefined && process.env['NODE_TEST_CONTEXT'] !== undefined) {
  limitHooks();
  const limitMs = Number(process.env['HOLDFAST_TEST_FILE_MS']);
  const limit = setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ');
    console.error(`${file} did not end within ${limitMs / 1_000} s. Still open: ${open}.`);
    process.exit(1);
  }, limitMs);
  limit.unref();
  process.once('exit', () => {
    appendFileSync(notes, `${JSON.stringify({ file, cpuMs: cpuMs() })}\n`);
  });
}

/**
 * node:test hooks into every promise, to assign uncaught errors to tests. In files with many short
 * asynchronous tests, this takes two thirds of the CPU time. So the hook sees only tests and suites,
 * which it needs to build the tree. An uncaught error then fails the whole file.
 */
function limitHooks(): void {
  const { AsyncResource } = hooks;
  const none = { enable: () => none, disable: () => none };
  let init: hooks.HookCallbacks['init'];
  hooks.createHook = (callbacks) => {
    init ??= callbacks.init;
    return none;
  };
  hooks.AsyncResource = class extends AsyncResource {
    constructor(type: string, options?: number | hooks.AsyncResourceOptions) {
      super(type, options);
      if (type === 'Test') init?.(this.asyncId(), type, this.triggerAsyncId(), this);
    }
  };
}

/** The CPU time of this process and its ended children. Without /proc, of this process only. */
export function cpuMs(): number {
  try {
    // The name in parentheses may contain spaces; fields 14 to 17 are ticks of 10 ms.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}
