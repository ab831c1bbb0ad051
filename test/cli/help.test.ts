// The help of every command: imperative summaries, flags with their unit and default, examples that parse.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTyped } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { flagHelp, flagText, helpFor } from '../../src/cli/help.ts';

for (const command of COMMANDS) {
  test(`help of ${command.name}: summary, flags and examples stand alone`, async () => {
    const spec = await command.load();
    assert.match(
      command.summary,
      /^[A-Z][a-z-]+,? .*[^.]$/,
      'an imperative sentence without a period',
    );
    for (const [name, flag] of Object.entries(spec.flags)) {
      assert.match(name, /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, 'flags are in kebab case');
      const shown = flagText(name, flag);
      assert.match(flag.help, /^(?:[a-z-]+(?: --[a-z]+)?(?:, [a-z]+)*: )?[A-Za-z]/, shown);
      if (flag.value === undefined) continue;
      assert.match(
        flagHelp(flag),
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

for (const command of COMMANDS) {
  test(`help of ${command.name}: a required flag is never shown as optional`, async () => {
    const { usage, flags } = await command.load();
    for (const [name, { help, required }] of Object.entries(flags)) {
      assert.doesNotMatch(help, /\(required\)|\[HOLDFAST_/, `--${name}: the help is derived`);
      if (required !== true) continue;
      assert.doesNotMatch(help, /\(default/, `--${name} is required and has a default`);
      const shown = new RegExp(`--${name}\\b`);
      assert.match(withoutOptional(usage), shown, `--${name} is required, without brackets`);
    }
    const bracketed = [...usage.matchAll(/\[--([a-z-]+)/g)].map(([, name = '']) => name);
    const wrong = bracketed.filter((name) => flags[name]?.required === true);
    assert.deepEqual(wrong, [], 'required flags in brackets');
  });
}

/** The usage without its parts in brackets. */
function withoutOptional(usage: string): string {
  const inner = /\[[^[\]]*\]/g;
  const shorter = usage.replace(inner, '');
  return shorter === usage ? usage : withoutOptional(shorter);
}

/** The words after the command, as a shell would pass them. */
function wordsOf(example: string, name: string): readonly string[] {
  const [, typed] = new RegExp(`holdfast ${name}\\b ?([^|)]*)`).exec(example) ?? [];
  assert.ok(typed !== undefined, `"${example}" does not run ${name}`);
  const words = [...typed.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)];
  return words.map(([, single, double, bare]) => single ?? double ?? bare ?? '');
}
