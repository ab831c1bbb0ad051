// Every command of the documentation: the command line parses each, and the `sh` blocks run in a
// new folder.

import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseTyped } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { fleetLog, settingsFor } from '../observe/simulated-fleet.ts';
import { freePort } from '../services/free-port.ts';
import { postgresForTests } from '../services/postgres.ts';
import { sample } from '../services/tier.ts';
import { runShell, shellPages } from './shell-blocks.ts';

const ROOT = join(import.meta.dirname, '../..');
const IN_ONE_RUN = 2;
const PAGES = shellPages();

/** Run as a whole from the installed package, in test/package/quick-starts.full.test.ts. */
const RUN_ELSEWHERE: readonly string[] = [
  'docs/start/five-minutes.md',
  'docs/start/deploy-a-coordinator.md',
];

async function inScratch(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-commands-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The words after `holdfast`, however the page calls it. */
function wordsOf(command: readonly string[]): readonly string[] | undefined {
  const at = command.findIndex((word) => word === 'holdfast' || word.endsWith('/cli/main.js'));
  if (at < 0 || command.includes('install')) return undefined;
  const words = command.slice(at + 1);
  return words[0] === '--' ? words.slice(1) : words;
}

async function parse([name = '', ...rest]: readonly string[]): Promise<void> {
  if (name === 'help') return;
  const command = COMMANDS.find((each) => each.name === name);
  assert.ok(command, `there is no command "${name}"`);
  const spec = await command.load();
  const [first] = parseTyped(spec, rest).words;
  if (spec.choices !== undefined && first !== undefined)
    assert.ok(spec.choices.includes(first), `${name} has no "${first}"`);
}

/** A shell reads `<id>` as a redirection. */
const withNames = (script: string): string => script.replaceAll(/<(\w+)>/g, '$1');

test('the command line parses every command of the pages', async () => {
  const scripts = PAGES.map(({ page, text, script }) => {
    const inline = [...text.matchAll(/`((?:npx )?holdfast [a-z][^`]*)`/g)].map(([, code]) => code);
    const named = `page ${page} inline\n(:\n${inline.join('\n')}\n)`;
    return `page ${page}\n(:\n${script}\n)\n${named}`;
  });
  await inScratch(async (folder) => {
    const ran = await runShell(withNames(scripts.join('\n')), folder, { isReal: false });
    let page = '';
    let isInline = false;
    for (const command of ran.commands) {
      if (command[0] === 'page') {
        page = command[1] ?? '';
        isInline = command[2] === 'inline';
      }
      // A sentence names a command. A reader copies a block, and has an installed package.
      assert.ok(
        isInline || command[0] !== 'holdfast',
        `${page}: write "npx ${command.join(' ')}", which works in a project with the package`,
      );
      const words = wordsOf(command);
      if (words === undefined) continue;
      await parse(words).catch((error: unknown) => {
        assert.fail(`${page}: ${command.join(' ')}: ${String(error)}`);
      });
    }
    assert.equal(ran.code, 0, `after the last command of ${page}: ${ran.problems}`);
  });
});

interface Scene {
  /** Commands before those of the page. */
  readonly before?: string;
  /** The texts of the page that a reader replaces, with their replacements. */
  readonly fill?: Readonly<Record<string, string>>;
}

const COORDINATOR = 'holdfast serve --auth off --admin main\nworker\n';
/** The first id that a command prints. */
const idIn = (command: string): string =>
  `$(holdfast ${command} --json | grep -o '"id":"[^"]*' | head -1 | cut -c 7-)`;
/** The key that the page's coordinator printed when it started. */
const FIRST_KEY = '$(grep -oh "hf_[a-z0-9]*_[A-Za-z0-9_-]*" "$SCRATCH"/.log-* | head -1)';
const PIPELINES = `mkdir -p src; echo "import { pipeline } from 'holdfast';
export const order = pipeline({ name: 'order', run: async () => 1 });" > src/pipelines.ts
`;
const DIGESTS = ['20c8', '7d41'].map((start) => `sha256:${start.repeat(16)}`);
const RELEASES = ['v1', 'v2'].map(
  (name, nth) =>
    `holdfast releases register order ${name} --artifact shop/orders --digest ${DIGESTS[nth]}
worker ${name} ${DIGESTS[nth]}; until holdfast workers --json | grep -q '"${name}"'; do :; done
`,
);
const CONTRACT = 'holdfast contract build src/pipelines.ts\n';

const SCENES: Readonly<Record<string, Scene>> = {
  'docs/guides/answers-by-webhook.md': {
    before: `echo "{\\"keys\\":{\\"k1\\":\\"$(openssl rand -base64 32)\\"},\\"current\\":\\"k1\\"}" > channels.json
chmod 600 channels.json
holdfast serve --auth off --channels-signing-file channels.json
`,
  },
  'README.md': {
    before: 'cd checkout\n',
    // Its execution fails, so the command exits with 1.
    fill: { '<id>': idIn('answer'), '"declined"}\' --wait': '"declined"}\' --wait || true' },
  },
  'docs/guides/bundle.md': { before: 'mkdir src; echo "console.log(1)" > src/main.ts\n' },
  'docs/guides/call-the-coordinator.md': {
    before: COORDINATOR,
    fill: { 'https://holdfast.example': '$HOLDFAST_URL', 'hf_…': 'none', '<id>': idIn('list') },
  },
  'docs/guides/cancel.md': {
    before: `${COORDINATOR}holdfast submit order '{"sleep":600000}' --key order-17\n`,
  },
  'docs/guides/contracts.md': {
    before: `${PIPELINES}${CONTRACT}cp holdfast.contract.json old.json; cp old.json new.json\n`,
  },
  'docs/guides/erasure.md': {
    before: `holdfast serve --auth off --admin main
holdfast submit order 1; holdfast cancel ${idIn('list')}
`,
    fill: { '<id>': idIn('list') },
  },
  'docs/guides/lease-log.md': { before: 'node log.ts; cp leases.jsonl other-host.jsonl\n' },
  'docs/guides/releases.md': {
    before: `${PIPELINES}holdfast serve --auth off --admin main
echo '[{"name":"shop/mailer","digest":"sha256:1f0b"}]' > artifacts.json
`,
    fill: {
      'sha256:20c8…': String(DIGESTS[0]),
      'sha256:7d41…': `${DIGESTS[1]}\nworker v2 ${DIGESTS[1]}`,
      // The page then continues with the rollout that was right.
      'it is slower"': 'it is slower"; holdfast releases activate order v2 --reason "mended"',
    },
  },
  'docs/guides/repin.md': {
    before: `${PIPELINES}${CONTRACT}holdfast serve --auth off --admin main
${RELEASES[0]}holdfast releases activate order v1
holdfast submit order '{"sleep":600000}'; holdfast submit order '{"sleep":600000}'
until holdfast list --status waiting --json | grep -c . | grep -q 2; do :; done
${RELEASES[1]}`,
    fill: { '<id>': idIn('list') },
  },
  'docs/guides/rest.md': {
    before: `${COORDINATOR}KEY=none\n`,
    fill: { $ID: idIn('list') },
  },
  'docs/guides/retention.md': {
    before: `holdfast serve --auth off --admin main --archive-folder archive --retention-cancelled-days 0 --retention-every-ms 86400000
holdfast submit order 1 --key order-4711; holdfast cancel ${idIn('list')}; holdfast archive run
`,
    fill: { '<id>': idIn('archive list') },
  },
  'docs/guides/sqlite-to-postgresql.md': { before: 'holdfast migrate --store ./holdfast.db\n' },
  'docs/operate/backup.md': {
    before: 'holdfast migrate --store postgres://db/app; holdfast migrate --store holdfast.db\n',
  },
  'docs/operate/compose.md': {
    fill: { 'node_modules/holdfast/deploy': join(ROOT, 'deploy'), '| grep': '; echo' },
  },
  'docs/operate/metrics.md': { before: 'holdfast serve --auth off --admin main\n' },
  'docs/operate/keys.md': {
    before: 'holdfast serve --store postgres://db/app --auth off --admin main\n',
    fill: { '<id>': idIn('keys create one --roles work --project shop') },
  },
  'docs/operate/projects.md': { before: COORDINATOR },
  'docs/operate/proxy.md': {
    fill: {
      'hf_…': FIRST_KEY,
      // With a setting, it checks a start on this machine.
      'npx holdfast doctor': 'unset HOLDFAST_PORT; npx holdfast doctor',
      // Tests listen on loopback only.
      '0.0.0.0': '127.0.0.1',
      'holdfast serve --trust-proxy': 'holdfast serve --port 7443 --trust-proxy',
    },
  },
  'docs/operate/run.md': { fill: { 'hf_…': FIRST_KEY } },
  'docs/operate/upgrade.md': { before: 'holdfast migrate --store postgres://db/app\n' },
};

/** The files that the commands read: programs of the page, and lease logs. */
async function writeFiles(text: string, script: string, folder: string): Promise<void> {
  for (const [, file = ''] of script.matchAll(/\bnode ([\w-]+\.ts)/g)) {
    const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(text) ?? [];
    await writeFile(join(folder, file), code);
  }
  if (!script.includes('holdfast advise')) return;
  const fleet = {
    settings: settingsFor(60_000),
    hours: 100,
    crashes: 12,
    checkpointEveryMs: 10_000,
  };
  const header = { kind: 'header', version: 1, at: 0 };
  const lines = [header, ...fleetLog(fleet)].map((record) => `${JSON.stringify(record)}\n`);
  for (const name of ['leases', 'other-host'])
    await writeFile(join(folder, `${name}.jsonl`), lines.join(''));
}

const runnable = PAGES.filter(({ page, script }) => script !== '' && !RUN_ELSEWHERE.includes(page));

for (const each of sample('commands of the documentation', runnable, IN_ONE_RUN)) {
  test(`the commands of ${each.page} run`, () =>
    inScratch(async (folder) => {
      const { before = '', fill = {} } = SCENES[each.page] ?? {};
      await writeFiles(each.text, before + each.script, folder);
      const postgres = each.script.includes('postgres://') ? await postgresForTests() : undefined;
      const [port, second] = [await freePort(), await freePort()];
      const all = { ...fill, 7433: String(port), 7443: String(second) };
      const script = Object.entries(all).reduce(
        (text, [from, to]) => text.replaceAll(from, to),
        (before + each.script).replaceAll(/postgres:\/\/[\w@.]+\/app/g, postgres?.url ?? ''),
      );
      const env = { HOLDFAST_PORT: String(port), HOLDFAST_URL: `http://127.0.0.1:${port}` };
      try {
        const { code, out, problems } = await runShell(script, folder, { isReal: true, env });
        assert.equal(code, 0, `${out}\n${problems}`);
      } finally {
        await postgres?.release();
      }
    }));
}
