import { KINDS, KNOWN_GAP, type Obligation } from './rows.ts';

const BEGIN = '<!-- obligations: npm run obligations -- --write -->';
const END = '<!-- end of obligations -->';

/** A table of the obligations by kind. */
export function obligationFigures(rows: readonly Obligation[]): string {
  const lines = KINDS.map((kind) => {
    const own = rows.filter((row) => row.kind === kind);
    const tested = own.filter(({ test }) => test !== undefined).length;
    const gaps = own.filter(({ reason }) => reason === KNOWN_GAP).length;
    const excused = own.filter(({ reason }) => reason !== undefined).length - gaps;
    return `| ${kind} | ${own.length} | ${tested} | ${excused} | ${gaps} |`;
  });
  const head = [
    '| Obligation | Rows | With a test | With a reason | Known gaps |',
    '|---|---|---|---|---|',
  ];
  return [...head, ...lines].join('\n');
}

/** The document with these figures between its markers. */
export function withObligations(document: string, rows: readonly Obligation[]): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin) throw new Error(`The document has no "${BEGIN}" and "${END}".`);
  const section = `${BEGIN}\n\n${obligationFigures(rows)}\n\n`;
  return `${document.slice(0, begin)}${section}${document.slice(end)}`;
}
