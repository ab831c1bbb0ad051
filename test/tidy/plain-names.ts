import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

/**
 * Words that names must not contain, each with the words to use instead. Several words match next to
 * each other. docs/reference/glossary.md has the reasons.
 */
export const BANNED_WORDS: Readonly<Record<string, string>> = {
  ...each(['tell', 'tells', 'telling', 'told', 'untold'], 'deliver, report, notify or print'),
  ...each(['say', 'says', 'saying', 'said'], 'body, text, request, or the name of the field'),
  ...each(['hear', 'hears', 'hearing', 'heard', 'unheard'], 'onReply, onMessage, received or read'),
  ...each(['speak', 'speaks', 'speaker', 'speaking', 'spoken'], 'caller, send or reply'),
  ...each(['news', 'unseen news'], 'inbox, inboxCount or messages'),
  ...each(['nobody', 'nobodys', 'somebody', 'anybody', 'whom'], 'caller, owner, session or key'),
  ...each(['stray', 'strays'], 'orphaned claims'),
  ...each(['mend', 'mends', 'mended'], 'repair'),
  ...each(['let go', 'letting go'], 'release, remove or end'),
  ...each(['look at', 'looked at', 'looks', 'looking'], 'check, poll or read'),
  ...each(['knock', 'knocks', 'knocking'], 'access request'),
  ...each(['desk', 'call desk'], 'fake endpoint'),
  ...each(['employ', 'employed', 'hired'], 'handler or worker'),
  ...each(['kin', 'twin', 'twins'], 'parent, duplicate or other'),
  ...each(['obey', 'deed'], 'run, apply or write'),
  ...each(['complain', 'complained'], 'report'),
  ...each(['unasked', 'unanswered'], 'missing, or store outage'),
  ...each(['patience', 'patiently'], 'wait'),
  ...each(['carrier', 'carriers'], 'transport'),
  ...each(['release line', 'change line', 'line options', 'line changed'], 'rollout'),
  ...each(['waiting line', 'leave line', 'next in line'], 'queue'),
  ...each(['move execution', 'execution moved', 'bulk move', 'move refusal'], 'repin'),
  ...each(['move store', 'moved rows', 'moved tables', 'move progress'], 'export or import'),
  ...each(['no candidate', 'without candidate'], 'canary'),
  ...each(['bell', 'bells', 'doorbell', 'rings', 'rang', 'rung', 'ringing'], 'wakeup or wake'),
  ...each(['keeper', 'keepers'], 'heartbeat loop'),
  ...each(['tends', 'tending'], 'maintenance'),
  ...each(['act', 'acting'], 'operation or action'),
  fruitless: 'claims without progress',
  'proved session': 'watchdog session',
  'behind key': 'concurrency limit',
  'passed on': 'forwarded',
  mishap: 'error boundary',
  'way back': 'coordinator connection',
  persistently: 'withRetries',
  quietly: 'ignoring faults',
  surroundings: 'environment',
  treasure: 'the lease that the case protects',
};

/** Columns, and fields of stored values, keep their names, so the code that reads them has them too. */
const STORED: Readonly<Record<string, RegExp>> = {
  act: /^(?:src\/(?:store|features\/(?:audit|releases|repair))\/|src\/engine\/(?:holdfast|run\/compensator)\.ts|test\/server\/(?:hostile-keys|reserved)\.test\.ts)/,
  news: /^(?:src\/store|test\/reconcile)\//,
  fruitless: /^src\/store\//,
};

const IDENTIFIER = /(?<![\w$])[A-Za-z_$][\w$]*/g;
const WORD_BOUNDARY = /[-_.$/]|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/;

function each(words: readonly string[], instead: string): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => [word, instead]));
}

/** Identifiers and file names with a banned word, and what to write instead. */
export function bannedNames(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => [
    ...problemsOf(path, path).map((problem) => `${path}: ${problem}`),
    ...identifierProblems(path, text),
  ]);
}

function identifierProblems(path: string, text: string): readonly string[] {
  const seen = new Set<string>();
  return [...viewOf(text, 'code').matchAll(IDENTIFIER)].flatMap(({ 0: name, index }) => {
    if (seen.has(name)) return [];
    seen.add(name);
    return problemsOf(path, name).map((problem) => `${path}:${lineAt(text, index)}: ${problem}`);
  });
}

function problemsOf(path: string, name: string): readonly string[] {
  return bannedIn(name)
    .filter((word) => STORED[word]?.test(path) !== true)
    .map((word) => `"${word}" in ${name}: use ${BANNED_WORDS[word]}`);
}

/** Files share most of their names. */
const known = new Map<string, readonly string[]>();

function bannedIn(name: string): readonly string[] {
  const before = known.get(name);
  if (before !== undefined) return before;
  const words = ` ${name.split(WORD_BOUNDARY).filter(Boolean).join(' ').toLowerCase()} `;
  const found = Object.keys(BANNED_WORDS).filter((word) => words.includes(` ${word} `));
  known.set(name, found);
  return found;
}
