// The generated sections of docs/performance.md and docs/operate/sizing.md.

import { comparedWith, shown, shownComparison } from '../../bench/peers/compare.ts';
import type { Conditions } from '../../bench/report.ts';
import { capacitySection } from './capacity.ts';
import { drawingName, drawingOf, figure, growthCurves, unitName } from './curves.ts';
import type { FigureRecord, PeerRecord, Records } from './records.ts';
import { middle, type Verdict, verdicts } from './targets.ts';

/** Files by their path from the root of the project. */
export type Files = ReadonlyMap<string, string>;

const PAGE = 'docs/performance.md';
const SIZING = 'docs/operate/sizing.md';
const COMPARED = ['Holdfast', 'Holdfast, coordinator'];

/** `read` returns the text of a file as it is. */
export function generatedFiles(records: Records, read: (path: string) => string): Files {
  const curves = growthCurves(records.figures);
  const page = Object.entries({
    targets: targetsSection(records),
    peers: peersSection(records.peers),
    settings: settingsSection(records),
    curves: curvesSection(records.figures),
    counts: countsSection(records.figures),
  }).reduce((text, [name, section]) => withSection(text, name, section), read(PAGE));
  return new Map([
    [PAGE, page],
    [SIZING, withSection(read(SIZING), 'capacity', capacitySection(records))],
    ...curves.map((curve): [string, string] => [
      `docs/images/${drawingName(curve)}`,
      drawingOf(curve),
    ]),
  ]);
}

/** The text with this section between its markers. */
export function withSection(text: string, name: string, section: string): string {
  const begin = `<!-- ${name}: npm run performance -->`;
  const end = `<!-- end of ${name} -->`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`The page has no "${begin}" and "${end}".`);
  return `${text.slice(0, from)}${begin}\n\n${section}\n\n${text.slice(to)}`;
}

function targetsSection(records: Records): string {
  const rows = verdicts(records).map(
    ({ work, store, target, found }) =>
      `| ${work} | ${store} | ${target} | ${found?.measured ?? ''} | ${verdictIn(found)} |`,
  );
  return table(['Work', 'Store', 'Target', 'Measured', ''], rows);
}

function verdictIn(found: Verdict['found']): string {
  if (found === undefined) return 'not measured';
  return found.isMet ? 'met' : '**missed**';
}

function peersSection(peers: readonly PeerRecord[]): string {
  const sections = [...Map.groupBy(peers, ({ row }) => row)].map(([row, found]) => {
    const unit = found[0]?.unit ?? '/s';
    const bases = found.filter(({ subject }) => COMPARED.includes(subject));
    const heads = [
      ...['Subject', `Median ${unit}`, 'Lowest – highest'],
      ...(unit === 'ms' ? ['p99 ms'] : []),
      ...['Count', 'Peak MB'],
      ...bases.map(({ subject }) => `× ${subject}`),
    ];
    const rows = sorted(found).map((each) => {
      const cells = [
        each.subject,
        shown(middle(each.values)),
        `${shown(Math.min(...each.values))} – ${shown(Math.max(...each.values))}`,
        ...(unit === 'ms' ? [shown(middle(each.p99s))] : []),
        each.count.toLocaleString('en-GB'),
        shown(middle(each.peakMb)),
        ...bases.map((base) => (base === each ? '' : shownComparison(comparedWith(each, base)))),
      ];
      return `| ${cells.join(' | ')} |`;
    });
    return [`### ${capital(row)}`, table(heads, rows), roundsOf(found)].join('\n\n');
  });
  return sections.join('\n\n');
}

/** Bare rates of a machine with much other work mean little, so a reader must see its load. */
function roundsOf(found: readonly PeerRecord[]): string {
  const counts = [...new Set(found.map(({ values }) => values.length))];
  const loads = found.map(({ conditions }) => conditions.load);
  return `${counts.join(' or ')} rounds in turns, load ${shown(Math.max(...loads))}.`;
}

/** The fastest first. */
function sorted(found: readonly PeerRecord[]): readonly PeerRecord[] {
  return found.toSorted((a, b) => {
    const difference = middle(a.values) - middle(b.values);
    return a.unit === 'ms' ? difference : -difference;
  });
}

function settingsSection({ peers, figures }: Records): string {
  const bySubject = Map.groupBy(peers, ({ subject }) => subject);
  const own = [...bySubject].map(([subject, found]) => {
    const settings = [...new Set(found.map((each) => each.settings))];
    return `- **${subject}**: ${settings.join('; or ')}.`;
  });
  const stores = peers.map(({ storeSettings }) =>
    Object.entries(storeSettings)
      .map(([name, value]) => `\`${name}=${value}\``)
      .join(', '),
  );
  const databases = [...new Set(stores)].filter((each) => each !== '').map((each) => `- ${each}`);
  return [...own, '', 'Databases:', '', ...databases, '', machines([...peers, ...figures])].join(
    '\n',
  );
}

function machines(records: readonly { readonly conditions: Conditions }[]): string {
  const each = records.map(
    ({ conditions: { cores, cpu, node, on } }) => `${cores} cores of ${cpu}, Node ${node}, ${on}`,
  );
  return `Measured on ${[...new Set(each)].join('; ')}.`;
}

function curvesSection(figures: readonly FigureRecord[]): string {
  const sections = growthCurves(figures).map((curve) => {
    const heads = [capital(curve.size), ...curve.lines.map(({ store }) => store)];
    const sizes = [
      ...new Set(curve.lines.flatMap(({ points }) => points.map(({ size }) => size))),
    ].sort((a, b) => a - b);
    const rows = sizes.map((size) => {
      const values = curve.lines.map(
        ({ points }) => points.find((point) => point.size === size)?.value,
      );
      const cells = values.map((value) => (value === undefined ? '' : figure(value)));
      return `| ${figure(size)} | ${cells.join(' | ')} |`;
    });
    return [
      `### ${capital(curve.size)}`,
      `![${capital(curve.size)}, ${unitName(curve.unit)}](images/${drawingName(curve)})`,
      table(heads, rows),
    ].join('\n\n');
  });
  return sections.length === 0 ? NO_CURVES : sections.join('\n\n');
}

const NO_CURVES =
  'No curves are stored yet. They need a machine without other work: `npm run bench -- growth`.';

function countsSection(figures: readonly FigureRecord[]): string {
  const counts = figures.filter(({ suite, metric }) => suite === 'regress' && metric === 'count');
  const rows = counts.map((each) => {
    const budget = figures.find(
      (other) =>
        other.suite === 'regress' &&
        other.metric === 'budget' &&
        other.store === each.store &&
        other.case === each.case,
    );
    const [subject = '', per = '', metric = ''] = each.case.split(' · ');
    return `| ${each.store}, ${subject} | ${metric}, ${per} | ${figure(each.value)} | ${figure(budget?.value ?? 0)} |`;
  });
  return table(['Where', 'Count', 'Measured', 'Budget'], rows);
}

function table(heads: readonly string[], rows: readonly string[]): string {
  const rule = heads.map((_, nth) => (nth === 0 ? '---' : '---:')).join('|');
  return [`| ${heads.join(' | ')} |`, `|${rule}|`, ...rows].join('\n');
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
