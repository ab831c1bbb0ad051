// The help of every command: imperative summaries, flags with their unit and default, examples that parse.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTyped } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { flagText, helpFor } from '../../src/cli/help.ts';

for (const command of COMMANDS) {
  test(`help of ${command.name}: summary, flags and examples stand alone`, async () => {
    const spec = await command.load();
    assert.match(
      command.summary,
      /^[A-Z][a-z-]+,? .*[^.]$/,
      'an imperative sentence without a period',
    );
    for (const [name, flag] of Object.entries(spec.flags)) {
      const shown = flagText(name, flag);
      assert.match(flag.help, /^(?:[a-z-]+(?: --[a-z]+)?(?:, [a-z]+)*: )?[A-Za-z]/, shown);
      if (flag.value === undefined) continue;
      assert.match(
        flag.help,
        /\((?:default [^)]+|required)\)/,
        `${shown}: its default, or (required)`,
      );
      if (flag.value === 'ms') assert.match(flag.help, /milliseconds/, shown);
      assert.doesNotMatch(flag.help, /unless said|so long|so many/, shown);
    }
    assert.ok(command.examples.length >= 2);
    for (const example of command.examples) parseTyped(spec, wordsOf(example, command.name));
    const help = helpFor(command, spec);
    for (const example of command.examples) assert.ok(help.includes(example));
  });
}

/** The words after the command, as a shell would pass them. */
function wordsOf(example: string, name: string): readonly string[] {
  const [, typed] = new RegExp(`holdfast ${name}\\b ?([^|)]*)`).exec(example) ?? [];
  assert.ok(typed !== undefined, `"${example}" does not run ${name}`);
  const words = [...typed.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
  return words.map(([, single, double, bare]) => single ?? double ?? bare ?? '');
}
