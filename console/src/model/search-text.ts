// The search text of executions, such as `pipeline:order tag:"two words" total=17 hold:paused`. Pure.

const NAMES = ['pipeline', 'tag', 'hold', 'key', 'code'] as const;

type Typed = Record<(typeof NAMES)[number] | 'attribute' | 'equals' | 'q', string | undefined>;

const PARTS = /(?:"(?:\\.|[^"\\])*"|[^\s"])+|"/g;

/**
 * The filters in the text, or a message if it has an unknown one. A bare word is a pipeline, or the start
 * of a key or an ID.
 */
export function readSearch(
  text: string,
  isPipeline: (word: string) => boolean = () => true,
): Typed | string {
  const typed: Typed = {
    ...{ pipeline: undefined, tag: undefined, hold: undefined },
    ...{ attribute: undefined, equals: undefined, key: undefined, code: undefined, q: undefined },
  };
  for (const part of text.match(PARTS) ?? []) {
    const [, name, value] = /^(pipeline|tag|hold|key|code):(.+)$/s.exec(part) ?? [];
    const [, attribute, equals] = /^([^=:"]+)=(.*)$/s.exec(part) ?? [];
    if (name !== undefined) typed[name as 'pipeline'] = plain(value ?? '');
    // The quotes stay: they mark a string, even if it looks like a number.
    else if (attribute !== undefined) Object.assign(typed, { attribute, equals });
    else if (part.startsWith('"') || !part.includes(':')) {
      const word = plain(part);
      if (isPipeline(word)) typed.pipeline = word;
      else typed.q = word;
    } else
      return `Unknown filter "${part}". Use pipeline:, key:, tag:, hold:, code: or attribute=value.`;
  }
  return typed;
}

export function writeSearch(of: (name: keyof Typed) => string | null): string {
  const parts = NAMES.flatMap((name) => {
    const value = of(name);
    return value === null ? [] : [`${name}:${/[\s"]/.test(value) ? JSON.stringify(value) : value}`];
  });
  const bare = of('q');
  if (bare !== null) parts.push(/[\s"]/.test(bare) ? JSON.stringify(bare) : bare);
  const attribute = of('attribute');
  return [...parts, ...(attribute === null ? [] : [`${attribute}=${of('equals') ?? ''}`])].join(
    ' ',
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
