// The commands that need no coordinator.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { recordTakeover } from '../observe/recorded-takeover.ts';
import { fleetLog, settingsFor } from '../observe/simulated-fleet.ts';
import { type Ran, holdfast as run } from './spawned.ts';

function holdfast(...words: readonly string[]): Promise<Ran> {
  return run(words);
}

let folder = '';
let takeover: readonly string[] = [];
let fleet = '';
let short = '';

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-'));
  takeover = await recordTakeover(folder);
  const ofFleet = { settings: settingsFor(60_000), crashes: 12, checkpointEveryMs: 10_000 };
  fleet = join(folder, 'fleet.jsonl');
  short = join(folder, 'short.jsonl');
  const header = { kind: 'header', version: 1, at: 0 };
  const lines = (hours: number): string =>
    [header, ...fleetLog({ ...ofFleet, hours })]
      .map((entry) => `${JSON.stringify(entry)}\n`)
      .join('');
  await writeFile(fleet, lines(300));
  await writeFile(short, lines(1));
});

after(() => rm(folder, { recursive: true, force: true }));

test('help lists the commands; help for a command lists its flags', async () => {
  for (const words of [[], ['help'], ['--help']]) {
    const { code, out } = await holdfast(...words);
    assert.equal(code, 0);
    assert.match(out, /advise[\s\S]*verify-log[\s\S]*Exit codes:\s+0/);
  }
  assert.match((await holdfast('help', 'advise')).out, /--preset/);
  assert.match((await holdfast('verify-log', '--help')).out, /--skew-ms/);
  assert.doesNotMatch((await holdfast('help', 'init')).out, /\n\n\n/, 'it takes no flags');
});

test('a misspelt command or flag exits with 2 and suggests the right one on stderr', async () => {
  const slips: readonly (readonly [readonly string[], RegExp])[] = [
    [['lsit'], /no command "lsit". Did you mean "list"\? List all: holdfast --help\. \[/],
    [['xylophone'], /^There is no command "xylophone"\. List all: holdfast --help\. \[/],
    [['advice'], /no command "advice". Did you mean "advise"\?/],
    [['advise', fleet, '--jsno'], /no flag "--jsno". Did you mean "--json"\?/],
    [['advise', fleet, '--preset', 'mony'], /no preset "mony". Did you mean "money"\?/],
    [['advise', fleet, '--preset'], /--preset needs a value/],
    [['advise'], /A log file is required/],
    [['verify-log', '--json=yes', fleet], /--json takes no value/],
    [['verify-log', fleet, '--skew-ms', 'soon'], /--skew-ms must be a whole number; got "soon"/],
    [['verify-log', folder], /is a folder\. Pass the log files in it/],
    [['advise', folder], /is a folder\. Pass the log files in it/],
    [['advise', fleet, '--replay-ttl-ms', '0'], /--replay-ttl-ms must be at least 10; got "0"/],
    [
      ['advise', fleet, '--replay-grace-ms', '9', '--replay-ttl-ms', '10'],
      /--replay-grace-ms must be at most half of --replay-ttl-ms/,
    ],
    [['advise', fleet, '--replay-grace-ms', '9'], /--replay-grace-ms needs --replay-ttl-ms/],
    [['advise', fleet, '--takeover-ms', '0'], /--takeover-ms must be at least 1/],
    [
      ['verify-log', join(folder, 'nothing.jsonl')],
      /nothing\.jsonl cannot be read or written \(ENOENT\)/,
    ],
  ];
  for (const [words, problem] of slips) {
    const { code, out, problems } = await holdfast(...words);
    assert.deepEqual({ code, out }, { code: 2, out: '' }, words.join(' '));
    assert.match(problems, problem);
  }
});

test('verify-log: a clean log exits with 0, a violation exits with 1 and prints its line', async () => {
  const clean = await holdfast('verify-log', ...takeover);
  assert.deepEqual({ code: clean.code, problems: clean.problems }, { code: 0, problems: '' });
  assert.match(clean.out, /takeovers after expiry\s+1\n[\s\S]*violations\s+0/);

  const [heir = '', holder = ''] = takeover;
  const bad = join(folder, 'bad.jsonl');
  const text = await readFile(heir, 'utf8');
  await writeFile(bad, text.replace(/^.*"kind":"ended".*\n/m, ''));
  const violated = await holdfast('verify-log', bad, holder);
  assert.equal(violated.code, 1);
  assert.match(violated.out, /bad\.jsonl:\d+: overlapping-tenure \[fence 1\.\d+\]/);
  assert.match(violated.out, /against .*bad\.jsonl:\d+/);

  const json = JSON.parse((await holdfast('verify-log', bad, holder, '--json')).out);
  assert.equal(json.kind, 'violated');
  assert.equal(json.violations[0].rule, 'overlapping-tenure');
});

test('verify-log: a file that is not a lease log exits with 2, with the line and its problem', async () => {
  const other = join(folder, 'other.jsonl');
  await writeFile(other, '{"level":30}\n{"level":40}\n');
  const { code, problems } = await holdfast('verify-log', other);
  assert.equal(code, 2);
  assert.match(problems, /other\.jsonl:1: kind must be one of/);
});

test('verify-log: a log with nothing to check exits with 2, and is not called clean', async () => {
  const text = join(folder, 'note.txt');
  const empty = join(folder, 'empty.jsonl');
  const begun = join(folder, 'begun.jsonl');
  await writeFile(text, 'hello');
  await writeFile(empty, '');
  await writeFile(begun, '{"kind":"header","version":1,"at":1}\n');
  for (const [file, problem] of [
    [text, /note\.txt:1: this is not JSON/],
    [empty, /Nothing was checked: the logs have no reports/],
    [begun, /Nothing was checked: the logs have no reports/],
  ] as const) {
    const { code, problems } = await holdfast('verify-log', file);
    assert.equal(code, 2, file);
    assert.match(problems, problem);
  }
});

test('advise: rotated logs in any order, and one log twice, give the same advice', async () => {
  const text = await readFile(fleet, 'utf8');
  const [, ...lines] = text.trimEnd().split('\n');
  const half = Math.floor(lines.length / 2);
  const parts = [lines.slice(0, half), lines.slice(half)].map((part, index) => ({
    file: join(folder, `rotated-${1 - index}.jsonl`),
    text: [JSON.stringify({ kind: 'header', version: 1, at: 1 + index }), ...part, ''].join('\n'),
  }));
  for (const part of parts) await writeFile(part.file, part.text);
  const [older = '', newer = ''] = parts.map(({ file }) => file);
  const expected = (await holdfast('advise', fleet, '--json')).out;
  assert.match(expected, /"kind": "recommendation"/);
  for (const files of [
    [older, newer],
    [newer, older],
    [older, newer, older],
  ]) {
    assert.equal((await holdfast('advise', ...files, '--json')).out, expected);
  }
});

test('advise: a table for people, JSON for programs, a picture on request', async () => {
  const svg = join(folder, 'trade-off.svg');
  const words = ['advise', fleet, '--preset', 'interactive', '--replay-ttl-ms', '10000'];
  const people = await holdfast(...words, '--svg', svg);
  assert.equal(people.code, 0, people.problems);
  assert.match(people.out, /ttl\s+60 s\s+[\d.]+ s\n/);
  assert.match(
    people.out,
    /takeover p50[\s\S]*false losses per 1,000 lease-days[\s\S]*binding limit/,
  );
  assert.match(people.out, /With these settings the recorded time would have had/);
  assert.match(await readFile(svg, 'utf8'), /^<svg /);

  const json = JSON.parse((await holdfast(...words, '--json')).out);
  assert.equal(json.kind, 'recommendation');
  assert.ok(
    json.ttlMs < 60_000 && json.heartbeatMs > 0 && json.graceMs > 0 && json.checkpointMs > 0,
  );
  assert.ok(json.predicted.takeoverP50Ms > 0 && json.replay.renewals > 0);
  assert.equal(json.candidates, undefined);
});

test('advise: too little evidence exits with 1 and prints what is missing', async () => {
  const { code, out } = await holdfast('advise', short);
  assert.equal(code, 1);
  assert.match(
    out,
    /Not enough evidence:\n• renewals: \d+ renewals; needed: 500[^\n]*; record about \d+ h/,
  );
  const svg = join(folder, 'never.svg');
  const asked = await holdfast('advise', short, '--svg', svg);
  assert.match(asked.problems, /never\.svg was not written, since there is no recommendation/);
  await assert.rejects(readFile(svg), /ENOENT/);
});

test('advise: limits on the command line replace those of the preset', async () => {
  const words = ['advise', fleet, '--preset', 'interactive'];
  const loose = JSON.parse((await holdfast(...words, '--takeover-ms', '60000', '--json')).out);
  const tight = JSON.parse((await holdfast(...words, '--takeover-ms', '6000', '--json')).out);
  assert.ok(
    loose.predicted.takeoverP99Ms > tight.predicted.takeoverP99Ms,
    'the limit has an effect',
  );
  assert.ok(tight.predicted.takeoverP99Ms <= 6_000);
  const strict = await holdfast(...words, '--false-losses', '1', '--takeover-ms', '1', '--json');
  assert.equal(strict.code, 1);
});

test('advise: a file that is not a log is named once, also in JSON, and exits with 2', async () => {
  const binary = join(folder, 'binary.bin');
  const bytes = Uint8Array.from({ length: 4_000 }, (_, index) => (index * 7_919) % 256);
  await writeFile(binary, bytes);
  const people = await holdfast('advise', binary);
  assert.equal(people.code, 2);
  assert.equal(people.problems.trim().split('\n').length, 2, people.problems);
  const programs = await holdfast('advise', binary, '--json');
  assert.equal(programs.code, 2);
  assert.equal(JSON.parse(programs.out).kind, 'unreadable');
  const absent = await holdfast('verify-log', join(folder, 'absent.jsonl'), '--json');
  assert.equal(absent.code, 2);
  assert.match(JSON.parse(absent.out).problem, /absent\.jsonl cannot be read/);
});

test('the version is that of the package', async () => {
  const manifest = await readFile(join(import.meta.dirname, '../../package.json'), 'utf8');
  assert.equal((await holdfast('--version')).out.trim(), JSON.parse(manifest).version);
});

test('the sample in the guide is the command’s output', async () => {
  const { out } = await holdfast('advise', fleet, '--preset', 'interactive');
  const guide = await readFile(
    join(import.meta.dirname, '../../docs/guides/tuning-ttls.md'),
    'utf8',
  );
  const sample = /^```\n( +now[\s\S]*?)^…$/m.exec(guide)?.[1] ?? '';
  assert.equal(sample, out.slice(0, sample.length), out);
  assert.ok(sample.split('\n').length > 5);
});
