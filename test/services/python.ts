// Python for the tests of `clients/python`.

import { join } from 'node:path';
import { runCommand } from './run-command.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The folder of the Python package. */
export const PYTHON_CLIENT = join(ROOT, 'clients/python');

/** Lets `python3` find the package, without files in the checkout. */
export function pythonEnvironment(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return { ...env, PYTHONPATH: PYTHON_CLIENT, PYTHONDONTWRITEBYTECODE: '1', ...more };
}

/** The program, 3.10 or newer. */
export async function findPython(): Promise<string> {
  const output = await runCommand('python3', ['--version']).catch((error: Error) => error.message);
  if (/^Python 3\.(?:[1-9]\d)/.test(output)) return 'python3';
  throw new Error(
    `Python 3.10 or newer is needed: ${output.trim()}. Put python3 on PATH, or leave it out by name: npm test -- --without=python`,
  );
}
