// A process that runs one command after another. It evaluates main.ts anew each time and keeps the
// other modules, which are most of a command's cost.

import type { Ran } from '../spawned.ts';

export interface WarmRequest {
  readonly words: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

let runs = 0;

// Without a channel to a parent there is nothing to run.
process.on('disconnect', () => process.exit());
process.on('message', (request: WarmRequest) => {
  void run(request).then((ran) => process.send?.(ran));
});

async function run({ words, cwd, env }: WarmRequest): Promise<Ran> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) {
    if (!(name in env)) delete process.env[name];
  }
  Object.assign(process.env, env);
  process.argv.splice(2, process.argv.length, ...words);
  process.exitCode = undefined;
  const out = captured(process.stdout);
  const problems = captured(process.stderr);
  runs += 1;
  try {
    await import(`../../../src/cli/main.ts?run=${runs}`);
  } finally {
    process.stdout.removeAllListeners('error');
    out.release();
    problems.release();
  }
  return { code: Number(process.exitCode ?? 0), out: out.text(), problems: problems.text() };
}

function captured(stream: NodeJS.WriteStream): { text(): string; release(): void } {
  const { write } = stream;
  const parts: Buffer[] = [];
  stream.write = (chunk: string | Uint8Array): boolean => {
    parts.push(Buffer.from(chunk as string));
    return true;
  };
  return {
    text: () => Buffer.concat(parts).toString('utf8'),
    release() {
      stream.write = write;
    },
  };
}
