// Checks that the table of arguments has every method, and every option that a function declares.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { RunContext } from '../../src/engine/run/run-context.ts';
import { Audit } from '../../src/features/audit/api.ts';
import { Archives } from '../../src/features/retention/api.ts';
import { Schedules } from '../../src/features/schedules/api.ts';
import { Templates } from '../../src/features/templates/api.ts';
import type { Options } from './bad-arguments/argument.ts';
import { OF_CODE, OPTIONS_OF_CODE } from './bad-arguments/of-code.ts';
import { OF_HOLDFAST, OPTIONS } from './bad-arguments/of-holdfast.ts';
import { OF_OPENINGS, OPTIONS_OF_OPENINGS } from './bad-arguments/of-openings.ts';
import {
  OF_OPERATORS,
  OPTIONS_OF_ARCHIVE,
  OPTIONS_OF_OPERATORS,
  Releases,
} from './bad-arguments/of-operators.ts';
import { onHoldfast } from './bad-arguments/on-holdfast.ts';
import { WRONG_NAMES } from './bad-arguments/wrong-values.ts';

/** The options that the function itself declares. */
async function knownOptions<From>({ call, with: base }: Options<From>, given: From) {
  try {
    await call(given, { ...base, qqqqqqqqqqqqqqqqqqqqqqqqqqqqqq: 1 });
    return 'an unknown option is accepted';
  } catch (error) {
    // A wrong name among secrets may be a secret itself, so that error has only the known names.
    const pattern = /Known options: (.*)\.$|such as \{ (.*) \}; it has another name/;
    const [, plain, hidden] = pattern.exec(String(error)) ?? [];
    const names = plain ?? hidden;
    return names === undefined ? String(error) : names.split(', ').toSorted().join(' ');
  }
}

async function checkNames<From>(all: readonly Options<From>[], given: From): Promise<void> {
  for (const options of all) {
    const expected = Object.keys(options.names).toSorted().join(' ');
    const known = await knownOptions(options, given);
    // Checkpoint policies have the fields that their kind needs.
    if (!options.of.includes('checkpoint of')) assert.equal(known, expected, options.of);
  }
}

function methodsOf(made: { readonly prototype: object }): readonly string[] {
  return Object.entries(Object.getOwnPropertyDescriptors(made.prototype))
    .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
    .map(([name]) => name);
}

const named = (table: readonly { readonly of: string }[]): ReadonlySet<string> =>
  new Set(table.map(({ of }) => of.split(':')[0] ?? ''));

const listed = pipeline({ name: 'listed', run: (ctx) => checkNames(OPTIONS_OF_CODE, ctx) });

test('the table has every method and every option', async () => {
  await onHoldfast(
    async (given) => {
      await checkNames([...OPTIONS, ...OPTIONS_OF_OPERATORS, ...OPTIONS_OF_ARCHIVE], given);
      await checkNames(OPTIONS_OF_OPENINGS, undefined);
      await (await given.holdfast.submit(listed, undefined)).result();
    },
    [listed],
  );
  const fits = [OF_HOLDFAST, OF_OPERATORS, OF_CODE, OF_OPENINGS]
    .flat()
    .flatMap((argument) => argument.fits);
  assert.deepEqual(
    fits.filter((name) => !WRONG_NAMES.includes(name)),
    [],
  );
  const inTable = named([...OF_HOLDFAST, ...OF_OPERATORS]);
  const expected = [
    // Only a coordinator calls these, with facts of its store.
    ...methodsOf(Holdfast).filter((name) => !['close', 'noteEnded', 'noteRefused'].includes(name)),
    ...methodsOf(Templates).map((name) => `templates.${name}`),
    ...methodsOf(Audit).map((name) => `audit.${name}`),
    ...methodsOf(Archives).map((name) => `archive.${name}`),
    ...methodsOf(Releases).map((name) => `releases.${name}`),
    ...methodsOf(Schedules).map((name) => `schedules.${name}`),
  ];
  assert.deepEqual(
    expected.filter((name) => !inTable.has(name)),
    [],
  );
  const takesNothing = ['now', 'random', 'uuid', 'nextKey', 'nextKeyOf', 'enter'];
  const ofCode = named(OF_CODE);
  assert.deepEqual(
    methodsOf(RunContext).filter((name) => !ofCode.has(name) && !takesNothing.includes(name)),
    [],
  );
});
