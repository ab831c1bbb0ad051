// Runs a measured process. Each round has its own, so that rounds do not influence each other.

import { spawn } from 'node:child_process';

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Gets each part of the standard output as it comes. */
  readonly onOutput?: (text: string) => void;
  /** Kill the process after this time. */
  readonly limitMs: number;
}

/** Returns the last JSON line of the output. Throws if the process fails or exceeds its limit. */
export async function runChild(
  script: string,
  args: readonly string[],
  options: ChildOptions,
): Promise<unknown> {
  const child = spawn(process.execPath, [script, ...args], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: options.limitMs,
    killSignal: 'SIGKILL',
  });
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', kill);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    options.onOutput?.(text);
  });
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  child.once('error', reject);
  child.once('close', (code, signal) => {
    process.off('exit', kill);
    const line = output
      .trimEnd()
      .split('\n')
      .findLast((each) => each.startsWith('{'));
    if (code === 0 && line !== undefined) return resolve(JSON.parse(line));
    const end = signal === null ? `ended with ${code}` : `was killed by ${signal}`;
    reject(new Error(`Not measured: ${script} ${end} (limit ${options.limitMs} ms).`));
  });
  return promise;
}
