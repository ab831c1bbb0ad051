// What a process is told about letting go of what has ended. A process that is told nothing removes nothing.

import type { Archive } from '../../archive/port.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  optionalBooleans,
  readOptions,
  requireMethods,
  wholeNumber,
} from '../../support/options.ts';
import { KEEP_MS_MAX, KEEP_NAMES, type KeepMs } from './model.ts';

export interface RetentionOptions {
  /** Where executions go before they are removed; `none`: they are gone for good. */
  readonly archive: Archive | 'none';
  /** How long the ended are kept where their project says nothing else; for ever where this says nothing. */
  readonly keepMs?: KeepMs;
  /** What a codec has sealed is archived as it reads it. Default true. */
  readonly decode?: boolean;
  /** How often it looks for what is due. Default 60 s. */
  readonly everyMs?: number;
}

export interface Retaining {
  readonly archive: Archive | undefined;
  readonly keepMs: KeepMs;
  readonly decodes: boolean;
  readonly everyMs: number;
}

const NAMES: readonly (keyof RetentionOptions)[] = ['archive', 'keepMs', 'decode', 'everyMs'];

export function resolveRetention(given: RetentionOptions): Retaining {
  const options = readOptions('retention', given, NAMES);
  const { archive, keepMs = {}, decode, everyMs = 60_000 } = options;
  if (archive === undefined) {
    throw new InvalidInput(
      'retention: archive is missing. Say where executions go before they are removed, such as openFolderArchive({ folder }), or "none" if they may be gone for good.',
    );
  }
  if (archive !== 'none') requireMethods('retention: archive', archive, ['put', 'get']);
  optionalBooleans('retention', { decode });
  return Object.freeze({
    archive: archive === 'none' ? undefined : archive,
    keepMs: readKeep('retention: keepMs', keepMs),
    decodes: decode ?? true,
    everyMs: wholeNumber('retention: everyMs', everyMs, { min: 10, max: 31 * 86_400_000 }),
  });
}

export function readKeep(what: string, given: KeepMs): KeepMs {
  const keep = readOptions(what, given, KEEP_NAMES);
  for (const name of KEEP_NAMES) {
    const ms = keep[name];
    if (ms === undefined || ms === null) continue;
    wholeNumber(`${what}.${name}`, ms, { min: 0, max: KEEP_MS_MAX });
  }
  return keep;
}
