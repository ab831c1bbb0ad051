// The search text of executions, such as `pipeline:order tag:"two words" total>=17 hold:paused`. Pure.

const NAMES = ['pipeline', 'release', 'worker', 'tag', 'hold', 'key', 'code'] as const;

type Name = (typeof NAMES)[number] | 'q';

/** The filters of a search, by their names in the URL and in the API. `where` compares attributes. */
export type Search = Readonly<Record<Name, string | undefined>> & {
  readonly where: readonly string[];
};

const PARTS = /(?:"(?:\\.|[^"\\])*"|[^\s"])+|"/g;
const NAMED = new RegExp(`^(${NAMES.join('|')}):(.+)$`, 's');
const COMPARED = /^[^=<>:"]+(>=|<=|=)/;

/**
 * The filters in the text, or a message if it has an unknown one. A bare word is a pipeline, or the start
 * of a key or an ID.
 */
export function readSearch(
  text: string,
  isPipeline: (word: string) => boolean = () => true,
): Search | string {
  const typed: Partial<Record<Name, string>> = {};
  const where: string[] = [];
  for (const part of text.match(PARTS) ?? []) {
    const [, name, value = ''] = NAMED.exec(part) ?? [];
    if (name !== undefined) typed[name as Name] = plain(value);
    // The quotes stay: they mark a string, even if it looks like a number.
    else if (COMPARED.test(part)) where.push(part);
    else if (part.startsWith('"') || !part.includes(':')) {
      const word = plain(part);
      typed[isPipeline(word) ? 'pipeline' : 'q'] = word;
    } else
      return `Unknown filter "${part}". Use ${NAMES.join(':, ')}: or an attribute such as total>=17.`;
  }
  const all = [...NAMES, 'q' as const].map((name) => [name, typed[name]] as const);
  return { ...(Object.fromEntries(all) as Record<Name, string | undefined>), where };
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
