import { type ExecFileOptions, execFile } from 'node:child_process';

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

/** Runs a program to its end and returns its output. An error contains the program's output. */
export function runCommand(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<string> {
  const execOptions: ExecFileOptions = { ...options, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(program, [...args], execOptions, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout.toString());
        return;
      }
      const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-15).join('\n');
      reject(
        new Error(
          `\`${program} ${args.join(' ')}\` failed (${error.code ?? error.signal ?? error.message}).` +
            (output === '' ? '' : ` It said:\n${output}`),
          { cause: error },
        ),
      );
    });
  });
}
