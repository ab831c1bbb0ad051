// Bugs that the simulator must find. Each changes one place of one source file, in a process that only
// runs seeds: no product code can turn one on.

export interface PlantedBug {
  readonly id: string;
  /** The rule that it breaks. */
  readonly rule: string;
  /** The bug, as a sentence. */
  readonly what: string;
  readonly file: string;
  /** Occurs once in the file. */
  readonly before: string;
  readonly after: string;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    id: 'successor-skips-rate',
    rule: 'X-66',
    what: 'A successor that takes over a slot starts without its rate key.',
    file: 'src/execution/decide/submit.ts',
    before: 'gated: keyed.rate !== undefined, hasSlot: true',
    after: 'gated: false, hasSlot: true',
  },
  {
    id: 'claim-delivered-twice',
    rule: 'X-25',
    what: 'A worker takes a claim twice: from its list of claims, and from a coordinator that was unsure.',
    file: 'src/worker/delivered-claims.ts',
    before: '({ fence }) => !this.#held.has(fence) && !removedMeanwhile.has(fence)',
    after: '() => true',
  },
];

export function plantedBug(id: string): PlantedBug {
  const found = PLANTED_BUGS.find((bug) => bug.id === id);
  if (found === undefined) throw new Error(`There is no planted bug "${id}".`);
  return found;
}
