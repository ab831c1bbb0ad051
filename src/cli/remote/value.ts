// Values that are typed: JSON, @ and a file that has it, or - for what comes in on stdin.

import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { UsageProblem } from '../command.ts';

export async function typedValue(typed: string | undefined): Promise<unknown> {
  if (typed === undefined) return undefined;
  if (typed === '-') return parsed('What came in on stdin', await text(process.stdin));
  if (typed.startsWith('@')) {
    const file = typed.slice(1);
    return parsed(file, await readFile(file, 'utf8').catch(explainMissing(file)));
  }
  return parsed(`"${typed}"`, typed);
}

function explainMissing(file: string): (fault: NodeJS.ErrnoException) => never {
  return (fault) => {
    if (fault.code !== 'ENOENT') throw fault;
    throw new UsageProblem(
      `There is no file "${file}" here. @file reads a file, - reads stdin; JSON is typed in quotes, such as '{"item":"tent"}'.`,
    );
  };
}

function parsed(what: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new UsageProblem(
      `${what} is no JSON (${(cause as Error).message}). Text is '"in quotes"'; @file reads a file, - reads stdin.`,
    );
  }
}
