// Parses the Markdown report of an archived execution. A report has only headings, tables, code blocks
// and lines. Values stay text, even if they contain markup. Pure.

export type ReportBlock =
  | { readonly kind: 'heading'; readonly level: 1 | 2; readonly text: string }
  | {
      readonly kind: 'table';
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'line'; readonly text: string };

export function reportBlocks(report: string): readonly ReportBlock[] {
  const lines = report.split('\n');
  const blocks: ReportBlock[] = [];
  let at = 0;
  const until = (isEnd: (line: string) => boolean): readonly string[] => {
    const from = at;
    while (at < lines.length && !isEnd(lines[at] ?? '')) at += 1;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const [, fence] = /^(`{3,})/.exec(line) ?? [];
    const [, marks, title = ''] = /^(#{1,2}) (.*)$/.exec(line) ?? [];
    if (fence !== undefined) {
      at += 1;
      blocks.push({ kind: 'code', text: until((each) => each === fence).join('\n') });
      at += 1;
    } else if (line.startsWith('|')) {
      blocks.push(tableOf(until((each) => !each.startsWith('|'))));
    } else {
      if (marks !== undefined) {
        blocks.push({ kind: 'heading', level: marks.length === 1 ? 1 : 2, text: plain(title) });
      } else if (line.trim() !== '') blocks.push({ kind: 'line', text: plain(line) });
      at += 1;
    }
  }
  return blocks;
}

function tableOf(lines: readonly string[]): ReportBlock {
  const [head = [], , ...rows] = lines.map(cellsOf);
  return { kind: 'table', head, rows };
}

/** A bar after a backslash belongs to the text of a cell. */
function cellsOf(line: string): readonly string[] {
  const inner = line.replace(/^\|/, '').replace(/\|\s*$/, '');
  return (inner.match(/(?:\\.|[^|\\])+/g) ?? []).map((cell) => plain(cell.trim()));
}

function plain(text: string): string {
  return text
    .replaceAll(/\\([\\`*_[\]|#!])/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&amp;', '&');
}
