// Runs the verbs of store/sql on SQLite.

import type { SQLInputValue } from 'node:sqlite';
import { type Gateway, type PlainGateway, type Script, valuesOf } from '../sql/script.ts';
import type { Database } from './database.ts';
import type { ReadTransaction, Transaction } from './transaction.ts';

/** For verbs of projects and keys, whose commits are not boundaries of executions. */
export function accessGatewayOf(database: Database): PlainGateway {
  return {
    read: (script) => database.read((tx) => play(tx, script())),
    write: (script) => database.write((tx) => play(tx, script())),
  };
}

export function gatewayOf(database: Database): Gateway {
  const repeat: Gateway['repeat'] = (script, after) =>
    database.perform((tx: Transaction) => {
      const answer = play(tx, script());
      if (after?.rings?.(answer) === true) tx.ring();
      return answer;
    }, undefined);
  return {
    read: (script) => database.read((tx) => play(tx, script())),
    write: repeat,
    repeat,
  };
}

/** To its end, without a pause: nothing else comes between its statements. */
export function play<Answer>(
  tx: Pick<ReadTransaction, 'now' | 'all'>,
  script: Script<Answer>,
): Answer {
  let step = script.next();
  while (step.done !== true) {
    const { sqlite } = step.value.sql;
    const values = valuesOf(sqlite, { now: tx.now, ...step.value.values });
    const named = sqlite.names.map((name, nth) => [name, toInput(values[nth])]);
    const rows = sqlite.text === '' ? [] : tx.all(sqlite.text, Object.fromEntries(named));
    step = script.next(rows);
  }
  return step.value;
}

function toInput(value: unknown): SQLInputValue {
  if (Array.isArray(value)) return JSON.stringify(value);
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue);
}
