export interface Report {
  readonly passed: number;
  readonly failures: readonly Failure[];
  /** Failures beside other files that did not occur when their file ran alone. */
  readonly unsteady: readonly Failure[];
  readonly files: readonly FileCost[];
  readonly leftOut: readonly LeftOut[];
}

export interface Failure {
  readonly file: string;
  readonly name: string;
  readonly why: string;
}

export interface FileCost {
  readonly file: string;
  readonly cases: number;
  readonly ms: number;
  /** The CPU time of the file's process and its children, without the shared servers. */
  cpuMs: number;
}

/** The number of members of a sampled family that the run left out. */
export interface LeftOut {
  readonly family: string;
  readonly left: number;
  readonly of: number;
}

export function joinReports(reports: readonly Report[]): Report {
  return {
    passed: reports.reduce((sum, { passed }) => sum + passed, 0),
    failures: reports.flatMap(({ failures }) => failures),
    unsteady: reports.flatMap(({ unsteady }) => unsteady),
    files: reports.flatMap(({ files }) => files),
    leftOut: reports.flatMap(({ leftOut }) => leftOut),
  };
}

const COSTLIEST_SHOWN = 10;

/** The end of the output: costs, samples and failures. */
export function reportLines(
  report: Report,
  run: { readonly seed: number; readonly ms: number; readonly cpuMs: number },
): readonly string[] {
  const cases = report.files.reduce((sum, file) => sum + file.cases, 0);
  const costliest = report.files.toSorted((a, b) => b.cpuMs - a.cpuMs).slice(0, COSTLIEST_SHOWN);
  return [
    '',
    `${'wall'.padStart(9)} ${'CPU'.padStart(9)} ${'cases'.padStart(7)}`,
    costLine({ file: `all ${report.files.length} files, services and checks`, cases, ...run }),
    ...costliest.map(costLine),
    ...sampleLines(report.leftOut, run.seed),
    ...(report.unsteady.length > 0 ? ['Failed beside other files, and passed alone:'] : []),
    ...report.unsteady.flatMap((failure) => failureLines('!', failure)),
    ...report.failures.flatMap((failure) => failureLines('✖', failure)),
  ];
}

function failureLines(mark: string, { file, name, why }: Failure): readonly string[] {
  return [`${mark} ${file}: ${name}`, why.replaceAll(/^/gm, '    ')];
}

function costLine({ file, cases, ms, cpuMs }: FileCost): string {
  return `${seconds(ms)} ${seconds(cpuMs)} ${String(cases).padStart(7)}  ${file}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(9);
}

function sampleLines(leftOut: readonly LeftOut[], seed: number): readonly string[] {
  if (leftOut.length === 0) return [];
  return [
    `Sampled with --seed=${seed}; \`npm run test:all\` runs all:`,
    ...leftOut.map(({ family, left, of }) => `  ${family}: left out ${left} of ${of}`).sort(),
  ];
}
