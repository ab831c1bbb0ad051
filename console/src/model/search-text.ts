// The search text of executions, such as `pipeline:order tag:"two words" total>=17 hold:paused`. Pure.

import { STATUSES } from './statuses.ts';

const NAMES = ['pipeline', 'release', 'worker', 'tag', 'hold', 'key', 'code', 'parent'] as const;

type Name = (typeof NAMES)[number] | 'q';

/** The filters of a search, by their names in the URL and in the API. `where` compares attributes. */
export type Search = Readonly<Record<Name, string | undefined>> & {
  readonly where: readonly string[];
  readonly status: readonly string[];
};

const PARTS = /(?:"(?:\\.|[^"\\])*"|[^\s"])+|"/g;
const NAMED = new RegExp(`^(${NAMES.join('|')}|status):(.+)$`, 's');
const COMPARED = /^[^=<>:"]+(>=|<=|=)/;
/** A whole ID of an execution. */
export const ID: RegExp = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The filters in the text, or a message if a part of it is not one: no part is left out. A bare word is
 * a pipeline, or the start of a key or an ID.
 */
export function readSearch(
  text: string,
  isPipeline: (word: string) => boolean = () => true,
): Search | string {
  const typed: Partial<Record<Name, string>> = {};
  const [where, status]: [string[], string[]] = [[], []];
  for (const part of text.match(PARTS) ?? []) {
    const [, name, value = ''] = NAMED.exec(part) ?? [];
    if (name === 'status') status.push(plain(value));
    // The quotes stay: they mark a string, even if it looks like a number.
    else if (name === undefined && COMPARED.test(part)) where.push(part);
    else if (name === undefined && !part.startsWith('"') && part.includes(':'))
      return `Unknown filter "${part}". Use ${NAMES.join(':, ')}:, status: or an attribute such as total>=17.`;
    else {
      const word = plain(name === undefined ? part : value);
      const of = (name as Name | undefined) ?? (isPipeline(word) ? 'pipeline' : 'q');
      const other = typed[of];
      if (other !== undefined && other !== word) return twice(of, other, word);
      typed[of] = word;
    }
  }
  const unknown = status.find((each) => !STATUSES.includes(each));
  if (unknown !== undefined)
    return `Unknown status "${unknown}". Use ${STATUSES.slice(0, -1).join(', ')} or ${STATUSES.at(-1)}.`;
  if (typed.parent !== undefined && !ID.test(typed.parent))
    return `"${typed.parent}" is not an ID. Use parent: with the whole ID of an execution.`;
  const all = [...NAMES, 'q' as const].map((name) => [name, typed[name]] as const);
  return { ...(Object.fromEntries(all) as Record<Name, string | undefined>), where, status };
}

function twice(name: Name, one: string, other: string): string {
  return name === 'q'
    ? `"${one}" and "${other}" are two keys or IDs, and a search has one. Quote a key with spaces: "${one} ${other}".`
    : `"${one}" and "${other}" are two values of ${name}:, and a search has one. Remove one of them.`;
}

/** The text for the filters of a URL. */
export function writeSearch(query: Pick<URLSearchParams, 'get' | 'getAll'>): string {
  const quoted = (value: string): string => (/[\s"]/.test(value) ? JSON.stringify(value) : value);
  const named = NAMES.flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [`${name}:${quoted(value)}`];
  });
  const bare = query.get('q');
  return [...named, ...(bare === null ? [] : [quoted(bare)]), ...query.getAll('where')].join(' ');
}

/** The filters as the query of a URL. */
export function searchQuery(search: Search): URLSearchParams {
  return new URLSearchParams(
    Object.entries(search).flatMap(([name, value]) =>
      [value ?? []].flat().map((each): [string, string] => [name, each]),
    ),
  );
}

function plain(part: string): string {
  if (!part.startsWith('"')) return part;
  try {
    return String(JSON.parse(part));
  } catch {
    return part;
  }
}
