// All verbs of executions that both SQL stores run as scripts. The stores add their native verbs,
// and the compiler finds one that is missing there.

import { archivesOf } from './archived.ts';
import { auditsOf } from './audit.ts';
import { awaitsOf } from './awaits.ts';
import { payloadsOf } from './blobs.ts';
import { censusOf } from './census.ts';
import type { Natives } from './changes.ts';
import { commandsOf } from './commands.ts';
import { deadLettersOf } from './dead-letters.ts';
import { erasuresOf } from './erase.ts';
import { readsOf } from './executions.ts';
import { figuresOf } from './figures.ts';
import { jobsOf } from './jobs.ts';
import { maintainer } from './maintain.ts';
import { refusalsOf } from './refusals.ts';
import { releasesOf } from './releases.ts';
import { removalsOf } from './remove.ts';
import { reconcileOf, type SweepFor } from './repair.ts';
import { rollupsOf } from './rollups.ts';
import { schedulesOf } from './schedules.ts';
import type { Gateway } from './script.ts';
import { templatesOf } from './templates.ts';
import { workersOf } from './workers.ts';

export function verbsOf(gateway: Gateway, natives: Natives, sweep: SweepFor) {
  return {
    ...commandsOf(gateway, natives),
    ...maintainer(gateway, natives),
    ...readsOf(gateway),
    ...payloadsOf(gateway),
    ...templatesOf(gateway),
    ...schedulesOf(gateway, natives),
    ...awaitsOf(gateway, natives),
    ...auditsOf(gateway),
    ...refusalsOf(gateway),
    ...deadLettersOf(gateway),
    ...reconcileOf(gateway, natives, sweep),
    ...jobsOf(gateway),
    ...archivesOf(gateway),
    ...removalsOf(gateway),
    ...erasuresOf(gateway),
    ...releasesOf(gateway),
    ...workersOf(gateway),
    ...censusOf(gateway),
    ...figuresOf(gateway),
    ...rollupsOf(gateway),
  };
}
