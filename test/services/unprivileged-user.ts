import { runCommand } from './run-command.ts';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

const CANDIDATES: readonly string[] = ['postgres', 'nobody'];

/** PostgreSQL refuses to run as root. Undefined if this process is not root. */
export async function unprivilegedUser(): Promise<User | undefined> {
  if (process.getuid?.() !== 0) {
    return undefined;
  }
  for (const name of CANDIDATES) {
    const user = await lookUp(name);
    if (user !== undefined) {
      return user;
    }
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and this machine has none of the users ${CANDIDATES.join(', ')} ` +
      'to run it as instead. Run the tests as an ordinary user, or create one of those users.',
  );
}

async function lookUp(name: string): Promise<User | undefined> {
  try {
    const uid = await runCommand('id', ['-u', name]);
    const gid = await runCommand('id', ['-g', name]);
    return { uid: Number(uid.trim()), gid: Number(gid.trim()) };
  } catch {
    return undefined;
  }
}
