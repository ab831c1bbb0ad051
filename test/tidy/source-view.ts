// Views of a source file that keep one kind of text and blank everything else.
//
// Every view has the length and the line breaks of the source, so an index or a line number means
// the same in all of them. Not a parser: it knows comments, strings, templates and regular
// expressions in formatted sources.

export type TextKind = 'code' | 'comment' | 'string';

/** Words after which a slash begins a regular expression and not a division. */
const BEFORE_REGEX = /(?:^|[=(,:;[!&|?{}+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|yield))\s*$/;

/** Many checks view the same files. */
const scanned = new Map<string, readonly Run[]>();

export function viewOf(source: string, kind: TextKind): string {
  const runs = scanned.get(source) ?? classify(source);
  scanned.set(source, runs);
  return runs
    .map((run, nth) => {
      const text = source.slice(runs[nth - 1]?.end ?? 0, run.end);
      return run.kind === kind ? text : text.replaceAll(/[^\n]/g, ' ');
    })
    .join('');
}

/** The line number, counted from one, of an index. */
export function lineAt(source: string, index: number): number {
  return source.slice(0, index).split('\n').length;
}

/** Text of one kind, from the end of the run before. */
interface Run {
  readonly kind: TextKind;
  end: number;
}

interface Scan {
  readonly source: string;
  readonly runs: Run[];
  /** For each open template placeholder, how many braces are open inside it. */
  readonly placeholders: number[];
  at: number;
}

function classify(source: string): readonly Run[] {
  const scan: Scan = { source, runs: [], placeholders: [], at: 0 };
  while (scan.at < source.length) {
    step(scan);
  }
  return scan.runs;
}

function step(scan: Scan): void {
  const { source, at } = scan;
  const char = source.charAt(at);
  if (source.startsWith('//', at)) {
    mark(scan, 'comment', endOf(source, '\n', at));
  } else if (source.startsWith('/*', at)) {
    mark(scan, 'comment', endOf(source, '*/', at + 2) + 2);
  } else if (char === "'" || char === '"') {
    markQuoted(scan, char);
  } else if (char === '`') {
    mark(scan, 'code', at + 1);
    markTemplateText(scan);
  } else if (char === '/' && BEFORE_REGEX.test(source.slice(Math.max(0, at - 12), at))) {
    markRegex(scan);
  } else {
    stepCode(scan, char);
  }
}

function stepCode(scan: Scan, char: string): void {
  const innermost = scan.placeholders.length - 1;
  const open = scan.placeholders[innermost];
  mark(scan, 'code', scan.at + 1);
  if (open === undefined) {
    return;
  }
  if (char === '{') {
    scan.placeholders[innermost] = open + 1;
  } else if (char === '}' && open > 0) {
    scan.placeholders[innermost] = open - 1;
  } else if (char === '}') {
    scan.placeholders.pop();
    markTemplateText(scan);
  }
}

/** From inside a template to its end or to its next placeholder. */
function markTemplateText(scan: Scan): void {
  const { source } = scan;
  while (scan.at < source.length) {
    if (source.startsWith('${', scan.at)) {
      mark(scan, 'code', scan.at + 2);
      scan.placeholders.push(0);
      return;
    }
    if (source.charAt(scan.at) === '`') {
      mark(scan, 'code', scan.at + 1);
      return;
    }
    mark(scan, 'string', scan.at + (source.charAt(scan.at) === '\\' ? 2 : 1));
  }
}

/** The quotes count as code, so that the code view still shows that there is a string. */
function markQuoted(scan: Scan, quote: string): void {
  mark(scan, 'code', scan.at + 1);
  markUntil(scan, (char) => char === quote || char === '\n');
  mark(scan, 'code', scan.at + 1);
}

function markRegex(scan: Scan): void {
  mark(scan, 'code', scan.at + 1);
  let inClass = false;
  markUntil(scan, (char) => {
    inClass = char === '[' || (inClass && char !== ']');
    return (char === '/' && !inClass) || char === '\n';
  });
  mark(scan, 'code', scan.at + 1);
}

function markUntil(scan: Scan, isEnd: (char: string) => boolean): void {
  while (scan.at < scan.source.length && !isEnd(scan.source.charAt(scan.at))) {
    mark(scan, 'string', scan.at + (scan.source.charAt(scan.at) === '\\' ? 2 : 1));
  }
}

function mark(scan: Scan, kind: TextKind, end: number): void {
  const last = scan.runs.at(-1);
  scan.at = Math.max(scan.at, Math.min(end, scan.source.length));
  if (last?.kind === kind) last.end = scan.at;
  else if (scan.at > (last?.end ?? 0)) scan.runs.push({ kind, end: scan.at });
}

function endOf(source: string, text: string, from: number): number {
  const found = source.indexOf(text, from);
  return found === -1 ? source.length : found;
}
