import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

export interface MemberPlace {
  readonly program: string;
  /** The folder of its data and of the file with its process id. */
  readonly folder: string;
  readonly name: string;
  readonly clientUrl: string;
  readonly flags: readonly string[];
}

export interface RunningMember {
  readonly place: MemberPlace;
  /** Like a power failure. Returns when it is gone. */
  kill(): Promise<void>;
  /** It stands still, and the system still accepts connections for it. */
  freeze(): void;
  thaw(): void;
}

const LOOK_EVERY_MS = 20;
const READY_MS_MAX = 20_000;

/** Starts it without waiting: a member is ready only when enough of the others are. */
export function startMember(place: MemberPlace): RunningMember & { ready(): Promise<void> } {
  mkdirSync(place.folder, { recursive: true });
  const pidFile = join(place.folder, 'pid');
  // It writes its own process id before it becomes etcd, so that the watchdog always finds it.
  const script = 'echo $$ > "$0"; exec "$@"';
  const child = spawn('sh', ['-c', script, pidFile, place.program, ...place.flags], {
    cwd: place.folder,
    // Its own session: an interrupt at the terminal goes to the tests, and the watchdog then ends
    // the members.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const log = logOf(child);
  child.unref();
  return {
    place,
    ready: () => untilReady(place, child, log),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.ref();
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
      rmSync(pidFile, { force: true });
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
  };
}

const LOG_LINES_MAX = 50;

/** Reads the output to its end, or the member would block on a full pipe. Keeps the last lines. */
function logOf(child: ChildProcess): readonly string[] {
  const log: string[] = [];
  const { stderr } = child;
  if (stderr === null) throw new Error('the member was spawned without a pipe for its log');
  createInterface({ input: stderr }).on('line', (line) => {
    log.push(line);
    if (log.length > LOG_LINES_MAX) log.shift();
  });
  if ('unref' in stderr && typeof stderr.unref === 'function') stderr.unref();
  return log;
}

/** The member itself reports on its own address that it has a leader and applies writes. */
async function untilReady(
  place: MemberPlace,
  child: ChildProcess,
  log: readonly string[],
): Promise<void> {
  const startedAt = performance.now();
  while (!(await isHealthy(place.clientUrl))) {
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    if (hasEnded || performance.now() - startedAt > READY_MS_MAX) {
      const how = hasEnded ? 'ended before it was ready' : 'was not ready in time';
      throw new Error(`etcd member ${place.name} ${how}:\n${log.join('\n')}`);
    }
    await pause(LOOK_EVERY_MS);
  }
}

async function isHealthy(clientUrl: string): Promise<boolean> {
  try {
    const answer = await fetch(`${clientUrl}/health`, { signal: AbortSignal.timeout(1_000) });
    return ((await answer.json()) as { readonly health?: string }).health === 'true';
  } catch {
    return false;
  }
}
