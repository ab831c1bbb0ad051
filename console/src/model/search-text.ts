// What is typed to search executions: `pipeline:order tag:"two words" total=17 hold:paused`. Pure.

const NAMES = ['pipeline', 'tag', 'hold'] as const;

type Typed = Record<(typeof NAMES)[number] | 'attribute' | 'equals', string | undefined>;

const PARTS = /(?:"(?:\\.|[^"\\])*"|[^\s"])+|"/g;

/** What it stands for, or what is wrong with it. */
export function readSearch(text: string): Typed | string {
  const typed: Typed = {
    ...{ pipeline: undefined, tag: undefined, hold: undefined },
    ...{ attribute: undefined, equals: undefined },
  };
  for (const part of text.match(PARTS) ?? []) {
    const [, name, value] = /^(pipeline|tag|hold):(.+)$/s.exec(part) ?? [];
    const [, attribute, equals] = /^([^=:"]+)=(.*)$/s.exec(part) ?? [];
    if (name !== undefined) typed[name as 'pipeline'] = plain(value ?? '');
    // With its quotes: they say that it is a text, whatever it looks like.
    else if (attribute !== undefined) Object.assign(typed, { attribute, equals });
    else if (part.startsWith('"') || !part.includes(':')) typed.pipeline = plain(part);
    else return `"${part}" is no filter. There are pipeline:…, tag:…, hold:… and attribute=value.`;
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
