// The table of (fault × state) pairs.

export function coverageTable(coverage: ReadonlyMap<string, number>): string {
  const pairs = [...coverage].map(([pair, times]) => [...pair.split(' × '), times] as const);
  const faults = [...new Set(pairs.map(([fault]) => String(fault)))].sort();
  const states = [...new Set(pairs.map(([, state]) => String(state)))].sort();
  const cell = (fault: string, state: string): string =>
    String(coverage.get(`${fault} × ${state}`) ?? 0);
  return [
    `| state | ${faults.join(' | ')} |`,
    `|---|${faults.map(() => '---:').join('|')}|`,
    ...states.map(
      (state) => `| ${state} | ${faults.map((fault) => cell(fault, state)).join(' | ')} |`,
    ),
  ].join('\n');
}
