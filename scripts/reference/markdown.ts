// Writes Markdown with lines of at most 100 columns.

const WIDTH = 100;

export interface Front {
  /** In the sidebar. */
  readonly title: string;
  readonly order: number;
  readonly group?: string;
}

/** Joins front matter, a note that names the generator, and blocks. */
export function pageText(front: Front, source: string, blocks: readonly string[]): string {
  const [heading, ...others] = blocks.map((block) => block.trimEnd()).filter(Boolean);
  const mark = `<!-- Generated from ${source} by \`npm run reference\`. Do not edit. -->`;
  const lines = Object.entries(front).map(([name, value]) => `${name}: ${value}`);
  return `---\n${lines.join('\n')}\n---\n\n${[heading, mark, ...others].join('\n\n')}\n`;
}

/** The first row is the head. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const [head = [], ...others] = rows.map((row) => row.map(cell));
  const rule = head.map(() => '---');
  const [first, ...rest] = [head, ...others].map((row) => `| ${row.join(' | ')} |`);
  return [first, `|${rule.join('|')}|`, ...rest].join('\n');
}

function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}

export function codeBlock(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
}

/** Wraps paragraphs; tables, headings and comments stay as they are. */
export function wrapped(text: string): string {
  return text
    .split('\n\n')
    .map((block) =>
      /^(?:#|\||<|```)/.test(block) ? block : wrappedLine(block.replaceAll('\n', ' ')),
    )
    .join('\n\n');
}

/** A word. A code span counts as one, so that no line break splits it. */
const UNBROKEN = /(?:`[^`]*`|[^\s`])+/g;

export function wrappedLine(text: string): string {
  const lines: string[] = [];
  let line = '';
  for (const [word] of text.matchAll(UNBROKEN)) {
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

/** Escapes angle brackets and braces outside of code spans. */
export function plain(text: string): string {
  return text.replaceAll(/`[^`]*`|[<{]/g, (match) => {
    if (match === '<') return '&lt;';
    return match === '{' ? '&#123;' : match;
  });
}
