export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Of one run of Node's runner. */
export interface Report {
  readonly tally: Tally;
  readonly failures: readonly Failure[];
  readonly times: readonly FileTime[];
}

export interface Failure {
  readonly file: string;
  readonly name: string;
  readonly why: string;
}

export interface FileTime {
  readonly file: string;
  readonly ms: number;
}

export function tallyOf(ok: boolean): Tally {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

export function addTallies(tallies: readonly Tally[]): Tally {
  return tallies.reduce(
    (sum, tally) => ({
      passed: sum.passed + tally.passed,
      failed: sum.failed + tally.failed,
      skipped: sum.skipped + tally.skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

/** The run's last line. */
export function tallyLine({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

const SLOW_SHOWN = 8;

/** For the end of the run, where people look first. */
export function reportLines({ failures, times }: Report): readonly string[] {
  const slowest = times.toSorted((a, b) => b.ms - a.ms).slice(0, SLOW_SHOWN);
  return [
    '• what took longest:',
    ...slowest.map(({ file, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`),
    ...failures.flatMap(({ file, name, why }) => [`✖ ${file}: ${name}`, indented(why)]),
  ];
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '    ');
}
