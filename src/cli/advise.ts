// `holdfast advise` recommends ttl, heartbeat, grace and checkpoint interval from recorded lease
// logs.

import { writeFile } from 'node:fs/promises';
import {
  type Advice,
  advise,
  describeReplay,
  type Goals,
  goalsOf,
  type LeaseSettings,
  type MalformedLine,
  ObservationCollector,
  type Observations,
  orderLeaseLogs,
  type Prediction,
  type Recommendation,
  readLeaseLog,
  replay,
  showEstimate,
  showMs,
  showPlace,
  tradeOffSvg,
} from '../observe/index.ts';
import { InvalidInput } from '../support/fault.ts';
import { present } from '../support/options.ts';
import {
  type CommandSpec,
  type ExitCode,
  integerText,
  logsOf,
  type Typed,
  UsageProblem,
} from './command.ts';
import { print, printJson, printProblem, progressOf, table } from './screen.ts';

const PRESET_DEFAULT = 'batch';
/** The least ttl that any store accepts. */
const TTL_MS_MIN = 10;
const MALFORMED_MAX = 20;

export const adviseCommand: CommandSpec = {
  usage:
    'holdfast advise <log> [<log> …] [--preset batch|interactive|money] [--takeover-ms 15000] [--false-losses 500] [--effect-ms 0] [--replay-ttl-ms 20000 [--replay-grace-ms 4000]] [--svg out.svg] [--json]',
  flags: {
    preset: { value: 'batch|interactive|money', help: 'Goals to advise for (default batch)' },
    'takeover-ms': {
      value: 'ms',
      help: "Longest acceptable takeover p99, in milliseconds (default the preset's)",
    },
    'false-losses': {
      value: 'n',
      help: "Acceptable false losses per 1,000 lease-days (default the preset's)",
    },
    'effect-ms': {
      value: 'ms',
      help: 'Longest effect that code starts under assertHeld, in milliseconds (default 0)',
    },
    'replay-ttl-ms': {
      value: 'ms',
      help: 'Replay the recorded time with this ttl, in milliseconds (default no replay)',
    },
    'replay-grace-ms': {
      value: 'ms',
      help: 'Replay with this grace, in milliseconds (default a fifth of --replay-ttl-ms)',
    },
    svg: { value: 'path', help: 'Draw the trade-off into this file (default none)' },
    json: { help: 'Print JSON' },
  },
  execute,
};

async function execute(typed: Typed): Promise<ExitCode> {
  const files = logsOf(adviseCommand, typed);
  const goals = goalsFrom(typed);
  const replaySettings = replaySettingsFrom(typed);
  const observations = await observed(await orderLeaseLogs(files));
  if (Array.isArray(observations)) return unreadable(typed, observations);
  const advice = advise(observations, goals);
  const replayed = replaySettings === undefined ? undefined : replay(observations, replaySettings);
  if (typed.isSet('json')) {
    const { candidates: _, ...shown } = { candidates: [], ...advice };
    printJson(replayed === undefined ? shown : { ...shown, replay: replayed });
  } else {
    showAdvice(advice);
    if (replayed !== undefined) print(`\n${describeReplay(replayed)}`);
  }
  const svg = typed.text('svg');
  if (svg !== undefined && advice.kind !== 'recommendation') {
    printProblem(`${svg} was not written, since there is no recommendation to draw.`);
  }
  if (svg !== undefined && advice.kind === 'recommendation') {
    await writeFile(svg, tradeOffSvg(advice));
    if (!typed.isSet('json')) print(`\nThe trade-off is in ${svg}.`);
  }
  return advice.kind === 'recommendation' ? 0 : 1;
}

function goalsFrom(typed: Typed): Goals {
  const longestEffectMs = integerText('effect-ms', typed.text('effect-ms'));
  const takeoverP99MsMax = integerText('takeover-ms', typed.text('takeover-ms'), 1);
  const falseLosses = integerText('false-losses', typed.text('false-losses'), 1);
  try {
    return goalsOf(typed.text('preset') ?? PRESET_DEFAULT, {
      ...present({
        longestEffectMs,
        takeoverP99MsMax,
        falseLossesPer1000LeaseDaysMax: falseLosses,
      }),
    });
  } catch (fault) {
    if (fault instanceof InvalidInput) throw new UsageProblem(fault.message);
    throw fault;
  }
}

/** Returns the observations, or the malformed lines if there are any. */
async function observed(files: readonly string[]): Promise<Observations | MalformedLine[]> {
  const collector = new ObservationCollector();
  const malformed: MalformedLine[] = [];
  for (const file of files) {
    for await (const line of readLeaseLog(file, { onProgress: progressOf(file) })) {
      if (line.kind !== 'malformed') {
        collector.add(line);
        continue;
      }
      malformed.push(line);
      // A file whose first line is malformed is not a lease log, so skip the rest of it.
      if (line.place.line === 1) break;
      if (malformed.length >= MALFORMED_MAX) return malformed;
    }
  }
  return malformed.length > 0 ? malformed : collector.observations();
}

function unreadable(typed: Typed, lines: readonly MalformedLine[]): ExitCode {
  if (typed.isSet('json')) {
    printJson({ kind: 'unreadable', lines });
    return 2;
  }
  for (const { place, problem } of lines) printProblem(`${showPlace(place)}: ${problem}`);
  printProblem(
    'No advice: these lines are not entries of a lease log. Pass files that recordLeases wrote. [invalid-input]',
  );
  return 2;
}

/** Derives the missing settings in the same way as the library. */
function replaySettingsFrom(typed: Typed): LeaseSettings | undefined {
  const ttlMs = integerText('replay-ttl-ms', typed.text('replay-ttl-ms'), TTL_MS_MIN);
  const typedGraceMs = integerText('replay-grace-ms', typed.text('replay-grace-ms'));
  if (ttlMs === undefined) {
    if (typedGraceMs === undefined) return undefined;
    throw new UsageProblem('--replay-grace-ms needs --replay-ttl-ms. Pass both.');
  }
  const graceMs = typedGraceMs ?? Math.floor(ttlMs / 5);
  if (graceMs > ttlMs / 2) {
    throw new UsageProblem(
      `--replay-grace-ms must be at most half of --replay-ttl-ms; got "${graceMs}".`,
    );
  }
  return { ttlMs, heartbeatMs: ttlMs / 3, graceMs, guardMs: Math.max(5, Math.floor(ttlMs / 100)) };
}

function showAdvice(advice: Advice): void {
  if (advice.kind === 'recommendation') {
    print(recommendationTable(advice));
    for (const reason of advice.reasons) print(`• ${reason}`);
    return;
  }
  if (advice.kind === 'goals-conflict') {
    print(`No settings keep every limit. These limits conflict: ${advice.between.join(', ')}.`);
    for (const reason of advice.reasons) print(`• ${reason}`);
    return;
  }
  print('Not enough evidence:');
  for (const { what, have, need, recordHours } of advice.missing) {
    const more = recordHours === undefined ? '' : `; record about ${showHours(recordHours)} more`;
    print(`• ${what}: ${have}; needed: ${need}${more}`);
  }
}

function showHours(hours: number): string {
  if (hours < 1) return `${Math.max(1, Math.ceil(hours * 60))} min of sessions`;
  return hours < 48
    ? `${Math.ceil(hours)} h of sessions`
    : `${Math.ceil(hours / 24)} days of sessions`;
}

function recommendationTable(advice: Recommendation): string {
  const { current } = advice;
  const ms = (value: number | undefined): string => (value === undefined ? '–' : showMs(value));
  const both = (name: string, show: (predicted: Prediction) => string): readonly string[] => [
    name,
    show(current.predicted),
    show(advice.predicted),
  ];
  const rows = [
    ['', 'now', advice.verdict === 'keep' ? 'keep' : 'advised'],
    ['ttl', ms(current.settings.ttlMs), ms(advice.ttlMs)],
    ['heartbeat', ms(current.settings.heartbeatMs), ms(advice.heartbeatMs)],
    ['grace', ms(current.settings.graceMs), ms(advice.graceMs)],
    ['work between checkpoints', ms(current.settings.checkpointMs), ms(advice.checkpointMs)],
    both('takeover p50', ({ takeoverP50Ms }) => showMs(takeoverP50Ms)),
    both('takeover p99', ({ takeoverP99Ms }) => showMs(takeoverP99Ms)),
    both('false losses per 1,000 lease-days', (each) =>
      showEstimate(each.falseLossesPer1000LeaseDays),
    ),
    both('lapses per 1,000 lease-days', (each) => showEstimate(each.falseLapsesPer1000LeaseDays)),
    both('crashes per 1,000 lease-days', (each) => showEstimate(each.crashesPer1000LeaseDays)),
    both(
      'rework per lease-day',
      (each) => `${Number(each.reworkSecondsPerLeaseDay.toPrecision(2))} s`,
    ),
    both('store writes per second and session', (each) => each.storeWritesPerSecond.toPrecision(2)),
    ['binding limit', '', advice.binding ?? 'none'],
    ['confidence', '', advice.confidence],
  ];
  return `${table(rows)}\n`;
}
