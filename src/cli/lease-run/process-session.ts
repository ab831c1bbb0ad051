// Signals to the processes of a session: its leader's group, and groups that programs such as
// `timeout` start for their children. Only Linux lists sessions, so elsewhere the group is all.

import { readdirSync, readFileSync } from 'node:fs';

interface Member {
  readonly pid: number;
  readonly group: number;
}

/** Other groups get it at their leader, as programs pass signals on to a group that they started. */
export function signalSession(leader: number, name: NodeJS.Signals): void {
  const leaders = membersOf(leader).filter(({ pid, group }) => pid === group && pid !== leader);
  for (const { pid } of leaders) send(pid, name);
  send(-leader, name);
}

/** Ends the leader last, because it may be this process. */
export function killSession(leader: number): void {
  const killed = new Set([leader]);
  // A process can start others until it is dead, so look until all are known.
  for (;;) {
    const rest = membersOf(leader).filter(({ pid }) => !killed.has(pid));
    if (rest.length === 0) break;
    for (const { pid } of rest) {
      killed.add(pid);
      send(pid, 'SIGKILL');
    }
  }
  send(-leader, 'SIGKILL');
}

function membersOf(leader: number): readonly Member[] {
  return entriesOf('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    // The name of the program is in parentheses, and may contain anything.
    const [, , group, session] = statOf(name)
      .replace(/^.*\) /s, '')
      .split(' ');
    return Number(session) === leader ? [{ pid: Number(name), group: Number(group) }] : [];
  });
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Not Linux, or not mounted.
    return [];
  }
}

function statOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

const GONE_OR_FOREIGN: ReadonlySet<string> = new Set(['ESRCH', 'EPERM']);

function send(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name);
  } catch (fault) {
    // It has ended, or runs as another user.
    if (!GONE_OR_FOREIGN.has((fault as NodeJS.ErrnoException).code ?? '')) throw fault;
  }
}
