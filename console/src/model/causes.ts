// Groups of dead letters by cause. One bug in a loop fails in many steps, and is still one cause. Pure.

export interface LetterGroup {
  readonly pipeline: string;
  readonly code: string;
  readonly step?: string;
  readonly count: number;
  readonly at: string;
}

export interface Cause extends LetterGroup {
  /** The number of steps that failed with it. With more than one, `step` is absent. */
  readonly steps: number;
  /** The compensation failed, not the step. */
  readonly isUndo: boolean;
}

function isUndo({ step }: LetterGroup): boolean {
  return step?.startsWith('undo:') === true;
}

/** The name of a call without its numbers: `step:row-5#1` and `step:row-6#1` are the same. */
function familyOf({ step = '' }: LetterGroup): string {
  return step.replaceAll(/\d+/g, '*');
}

export function causesOf(groups: readonly LetterGroup[]): readonly Cause[] {
  const byCode = new Map<string, LetterGroup[]>();
  for (const group of groups) {
    const key = JSON.stringify([group.pipeline, group.code]);
    byCode.set(key, [...(byCode.get(key) ?? []), group]);
  }
  return [...byCode.values()].flatMap(merged).toSorted((one, other) => other.count - one.count);
}

/**
 * A re-drive selects by pipeline and code, so groups are merged only if all of these belong to one family
 * of steps.
 */
function merged(groups: readonly LetterGroup[]): readonly Cause[] {
  const families = new Set(groups.map(familyOf));
  const [first] = groups;
  if (first === undefined || families.size > 1 || groups.length === 1) {
    return groups.map((group) => ({ ...group, steps: 1, isUndo: isUndo(group) }));
  }
  const { pipeline, code } = first;
  const [at = first.at] = groups
    .map((group) => group.at)
    .toSorted()
    .toReversed();
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  return [{ pipeline, code, count, at, steps: groups.length, isUndo: isUndo(first) }];
}
