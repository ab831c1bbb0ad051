// The search text of executions, such as `pipeline:order tag:"two words" total=17 hold:paused`. Pure.

const NAMES = ['pipeline', 'tag', 'hold'] as const;

type Typed = Record<(typeof NAMES)[number] | 'attribute' | 'equals', string | undefined>;

const PARTS = /(?:"(?:\\.|[^"\\])*"|[^\s"])+|"/g;

/** The filters in the text, or a message if it has an unknown one. */
export function readSearch(text: string): Typed | string {
  const typed: Typed = {
    ...{ pipeline: undefined, tag: undefined, hold: undefined },
    ...{ attribute: undefined, equals: undefined },
  };
  for (const part of text.match(PARTS) ?? []) {
    const [, name, value] = /^(pipeline|tag|hold):(.+)$/s.exec(part) ?? [];
    const [, attribute, equals] = /^([^=:"]+)=(.*)$/s.exec(part) ?? [];
    if (name !== undefined) typed[name as 'pipeline'] = plain(value ?? '');
    // The quotes stay: they mark a string, even if it looks like a number.
    else if (attribute !== undefined) Object.assign(typed, { attribute, equals });
    else if (part.startsWith('"') || !part.includes(':')) typed.pipeline = plain(part);
    else return `Unknown filter "${part}". Use pipeline:, tag:, hold: or attribute=value.`;
  }
  return typed;
}

export function writeSearch(of: (name: keyof Typed) => string | null): string {
  const parts = NAMES.flatMap((name) => {
    const value = of(name);
    return value === null ? [] : [`${name}:${/[\s"]/.test(value) ? JSON.stringify(value) : value}`];
  });
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
