// Commands that ask a coordinator.

import type { Command, CommandSpec } from '../command.ts';

/** One file for what is one idea. */
const FROM = {
  executions: () => import('./executions.ts'),
  acts: () => import('./acts.ts'),
  lists: () => import('./lists.ts'),
};

function command(name: string, summary: string, load: () => Promise<CommandSpec>): Command {
  return { name, summary, load };
}

export const REMOTE_COMMANDS: readonly Command[] = [
  command(
    'submit',
    'submits an execution, and waits for its end if asked',
    async () => (await import('./submit.ts')).submitCommand,
  ),
  command('get', 'one execution as it is now', async () => (await FROM.executions()).getCommand),
  command(
    'watch',
    'what happens to an execution, live, until its end',
    async () => (await import('./watch.ts')).watchCommand,
  ),
  command('list', 'executions, newest first', async () => (await FROM.lists()).listCommand),
  command(
    'history',
    'what happened to an execution',
    async () => (await FROM.executions()).historyCommand,
  ),
  command(
    'explain',
    'why an execution is not moving, and what can be done',
    async () => (await FROM.executions()).explainCommand,
  ),
  command('cancel', 'cancels an execution', async () => (await FROM.acts()).cancelCommand),
  command(
    'pause',
    'holds an execution back until it is resumed',
    async () => (await FROM.acts()).pauseCommand,
  ),
  command(
    'resume',
    'lets a paused or blocked execution go on',
    async () => (await FROM.acts()).resumeCommand,
  ),
  command(
    'signal',
    'sends a named message to an execution',
    async () => (await FROM.acts()).signalCommand,
  ),
  command(
    'answer',
    'what executions ask people; answers one',
    async () => (await import('../../features/awaits/cli.ts')).answerCommand,
  ),
  command(
    'dead-letters',
    'executions that failed for good',
    async () => (await FROM.lists()).deadLettersCommand,
  ),
  command(
    'redrive',
    'drives an execution that failed again, from where it failed',
    async () => (await FROM.acts()).redriveCommand,
  ),
  command(
    'archive',
    'executions that ended and were removed: finds, reads and checks them; archives now',
    async () => (await import('../../features/retention/cli.ts')).archiveCommand,
  ),
  command(
    'schedules',
    'what is submitted by itself, and when next',
    async () => (await FROM.lists()).schedulesCommand,
  ),
  command(
    'releases',
    'builds of a pipeline: register, preflight, activate, share, roll back, retire, move',
    async () => (await import('../../features/releases/cli.ts')).releasesCommand,
  ),
  command('workers', 'who works for this project', async () => (await FROM.lists()).workersCommand),
  command(
    'projects',
    'what a coordinator keeps apart: lists them, puts one',
    async () => (await import('../../features/access/projects-cli.ts')).projectsCommand,
  ),
  command(
    'keys',
    'who may do what: lists keys, makes, rotates, revokes, recovers one',
    async () => (await import('../../features/access/keys-cli.ts')).keysCommand,
  ),
  command('leases', 'who holds what', async () => (await FROM.lists()).leasesCommand),
];
