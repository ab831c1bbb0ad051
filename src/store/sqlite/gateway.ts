// Runs the verbs of store/sql on SQLite.

import type { SQLInputValue } from 'node:sqlite';
import type { LeaseGateway } from '../sql/leases/terms.ts';
import type { Gateway, PlainGateway, Script, ScriptStatement } from '../sql/script.ts';
import type { Database } from './database.ts';
import type { ReadTransaction, Transaction } from './transaction.ts';

/** For verbs of projects and keys. Their commits do not count as commits of executions. */
export function accessGatewayOf(database: Database): PlainGateway {
  return {
    read: (script) => database.read((tx) => play(tx, script())),
    write: (script) => database.write((tx) => play(tx, script())),
  };
}

export function leaseGatewayOf(database: Database): LeaseGateway {
  const plain = accessGatewayOf(database);
  return { ...plain, once: plain.write, freed: (key) => database.hints.call(key) };
}

export function gatewayOf(database: Database): Gateway {
  const repeat: Gateway['repeat'] = (script, after) =>
    database.perform((tx: Transaction) => {
      const result = play(tx, script());
      if (after?.notifies?.(result) === true) tx.notify();
      return result;
    }, undefined);
  return { read: (script) => database.read((tx) => play(tx, script())), write: repeat, repeat };
}

type Readable = Pick<ReadTransaction, 'now' | 'all'>;

/** Runs a script to its end without a pause, so no other operation comes between its statements. */
export function play<Result>(tx: Readable, script: Script<Result>): Result {
  let step = script.next();
  while (step.done !== true) {
    const yielded = step.value;
    step = script.next('run' in yielded ? yielded.run(tx) : rowsOf(tx, yielded));
  }
  return step.value;
}

function rowsOf(tx: Readable, { sql: { sqlite }, values }: ScriptStatement): readonly unknown[] {
  if (sqlite.text === '') return [];
  const given = values as Readonly<Record<string, unknown>>;
  const named: Record<string, SQLInputValue> = {};
  for (const name of sqlite.names) {
    named[name] = toInput(given[name] ?? (name === 'now' ? tx.now : null));
  }
  return tx.all(sqlite.text, named);
}

function toInput(value: unknown): SQLInputValue {
  if (Array.isArray(value)) return JSON.stringify(value);
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue);
}
