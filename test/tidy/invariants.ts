import type { ProjectFile } from './project-files.ts';
import { lineAt, viewOf } from './source-view.ts';

const ID = /\b[A-Z]{1,2}-\d{1,3}\b/g;
/** A definition: a heading that begins with the id, or the id in bold. */
const DEFINITION = /^#{1,6}\s+([A-Z]{1,2}-\d{1,3})\b|\*\*([A-Z]{1,2}-\d{1,3})\b/gm;
const NO_CASE = /\(no case: \S[^)]*\)/;
const NOTE = /\((?:no case|shown by): [^)]*\)/g;
/** A reader holds no more in mind at once. */
const RULE_WORDS_MAX = 60;

export interface InvariantSources {
  /** docs/spec, which defines the invariants. */
  readonly spec: readonly ProjectFile[];
  /** The sources and SQL that uphold them, without tests. */
  readonly sources: readonly ProjectFile[];
  /** Their proofs: test titles and the `upholds` of contract cases. */
  readonly tests: readonly ProjectFile[];
}

/** Ids without a definition or with two, and definitions that are long, or that no test names without a reason. */
export function invariantProblems({ spec, sources, tests }: InvariantSources): readonly string[] {
  const definitions = definitionsIn(spec);
  const defined = new Map<string, Definition>();
  const repeated: string[] = [];
  for (const definition of definitions) {
    const first = defined.get(definition.id);
    if (first === undefined) defined.set(definition.id, definition);
    else repeated.push(`${definition.place}: defines ${first.id} again, after ${first.place}`);
  }
  const tested = new Set(tests.flatMap((file) => idsIn(viewOf(file.text, 'string'))));
  const undefinedIds = [...citations(sources)]
    .filter(([id]) => !defined.has(id))
    .map(([id, place]) => `${place}: cites ${id}, which no file in docs/spec defines`);
  const untested = [...defined.values()]
    .filter(({ id, waived }) => !waived && !tested.has(id))
    .map(({ id, place }) => `${place}: no test names ${id}, nor does it say (no case: reason)`);
  const long = definitions
    .filter(({ words }) => words > RULE_WORDS_MAX)
    .map(
      ({ id, place, words }) =>
        `${place}: ${id} has ${words} words, more than ${RULE_WORDS_MAX}: split it, or explain it below the rule`,
    );
  return [...repeated, ...undefinedIds, ...untested, ...long];
}

export interface Definition {
  readonly id: string;
  readonly place: string;
  readonly waived: boolean;
  readonly words: number;
}

export function definitionsIn(spec: readonly ProjectFile[]): readonly Definition[] {
  return spec.flatMap(({ path, text }) => {
    const matches = [...text.matchAll(DEFINITION)];
    return matches.map((match, index) => {
      const end = matches[index + 1]?.index ?? text.length;
      const [paragraph = ''] = text.slice(match.index, end).split(/\n\s*\n/);
      return {
        id: match[1] ?? match[2] ?? '',
        place: `${path}:${lineAt(text, match.index)}`,
        waived: NO_CASE.test(paragraph),
        words: wordsOf(paragraph),
      };
    });
  });
}

/** Without the id, notes and the addresses of links; code counts as one word. */
function wordsOf(rule: string): number {
  const plain = rule
    .replace(/^\S+/, '')
    .replace(NOTE, '')
    .replace(/\]\([^)]*\)/g, ']')
    .replace(/`[^`]*`/g, 'code');
  return plain.match(/[\p{L}\p{N}][\p{L}\p{N}'’.-]*/gu)?.length ?? 0;
}

/** The first place of each id cited in a comment, whether of TypeScript or of SQL. */
function citations(sources: readonly ProjectFile[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { path, text } of sources) {
    const isSql = path.endsWith('.sql');
    const comments = [
      isSql ? '' : viewOf(text, 'comment'),
      sqlComments(isSql ? text : viewOf(text, 'string')),
    ];
    for (const comment of comments) {
      for (const { index, 0: id } of comment.matchAll(ID)) {
        found.set(id, found.get(id) ?? `${path}:${lineAt(comment, index)}`);
      }
    }
  }
  return found;
}

function sqlComments(sql: string): string {
  const lines = sql.split('\n').map((line) => /--.*$/.exec(line)?.[0] ?? '');
  return lines.join('\n');
}

function idsIn(text: string): readonly string[] {
  return [...text.matchAll(ID)].map(([id]) => id);
}
