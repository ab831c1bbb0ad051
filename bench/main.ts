// Measures one suite. `npm run bench` lists suites and options.

import { type Command, parseCommandLine, UsageError, usage } from './command-line.ts';
import { conditionsOf, jsonLine, type Result, sharedSettings, table } from './report.ts';
import { BenchFailed } from './suite.ts';
import { SUITES } from './suites.ts';

async function main(args: readonly string[]): Promise<void> {
  const command = parseCommandLine(args, SUITES);
  if (command === undefined) {
    console.log(usage(SUITES));
    return;
  }
  const results = command.suite.run({ ...command, progress });
  if (command.json) {
    for await (const result of results) console.log(jsonLine(result, conditionsOf(command)));
  } else {
    await printTables(command, results);
  }
  progress('');
}

/** Prints each table as soon as it is complete. A store has one or more. */
async function printTables(command: Command, results: AsyncIterable<Result>): Promise<void> {
  const startedAt = performance.now();
  let ofTable: Result[] = [];
  let failed: BenchFailed | undefined;
  try {
    for await (const result of results) {
      const [first] = ofTable;
      if (first !== undefined && (first.store !== result.store || first.table !== result.table)) {
        printTable(ofTable);
        ofTable = [];
      }
      ofTable.push(result);
    }
  } catch (error) {
    if (!(error instanceof BenchFailed)) throw error;
    failed = error;
  }
  if (ofTable.length === 0) {
    throw new UsageError(
      `No case of suite "${command.suite.name}" matches: the stores have none, or no name contains "${command.only}".`,
    );
  }
  printTable(ofTable);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  const { cores, cpu, node } = conditionsOf(command);
  const form = command.quick ? 'quick rounds, not for decisions' : 'full rounds';
  console.log(command.suite.legend.join('\n'));
  console.log(`Node ${node} on ${cores} × ${cpu}; ${form}; ${seconds} s.`);
  if (failed !== undefined) throw failed;
}

function printTable(results: readonly Result[]): void {
  progress('');
  console.log(`${results[0]?.store ?? ''}: ${sharedSettings(results)}\n`);
  console.log(`${table(results)}\n`);
}

/** Overwrites one line of a terminal. */
function progress(what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${what}`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError || error instanceof BenchFailed)) throw error;
  console.error(error.message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
