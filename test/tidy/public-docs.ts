import type { PublicExport, PublicMember } from './public-api.ts';

/** Rules are for readers of the specification: `A-3`, `EX-12`. */
const RULE_ID = /\b[A-Z]{1,2}-\d{1,3}\b/;

/** Exports and members without JSDoc, exports without an example, and JSDoc that cites rules. */
export function documentationProblems(api: readonly PublicExport[]): readonly string[] {
  return api.flatMap((each) => [
    ...[each, ...each.members].flatMap(problemsOf),
    ...(each.needsExample && !each.docs.includes('@example')
      ? [`${each.place}: ${each.name} has no @example`]
      : []),
  ]);
}

function problemsOf({ name, place, docs, isDocumented }: PublicMember): readonly string[] {
  if (!isDocumented) return [`${place}: ${name} has no JSDoc`];
  return RULE_ID.test(docs) ? [`${place}: ${name} cites a rule of the specification`] : [];
}

export interface DocumentedShare {
  readonly entry: string;
  readonly exports: number;
  readonly documentedExports: number;
  readonly members: number;
  readonly documentedMembers: number;
}

/** Counts by entry point; a declaration counts for the first that exports it. */
export function documentedShares(api: readonly PublicExport[]): readonly DocumentedShare[] {
  const entries = [...new Set(api.map(({ entry }) => entry))];
  return entries.map((entry) => {
    const own = api.filter((each) => each.entry === entry);
    const members = own.flatMap((each) => each.members);
    return {
      entry,
      exports: own.length,
      documentedExports: own.filter((each) => each.isDocumented).length,
      members: members.length,
      documentedMembers: members.filter((each) => each.isDocumented).length,
    };
  });
}
