/** Subjects of commits that break the rule of CONTRIBUTING: `area: imperative summary`, at most 72 characters. */
export function subjectProblems(subjects: readonly string[]): readonly string[] {
  return subjects.flatMap((subject) => {
    const problem = problemOf(subject);
    return problem === undefined ? [] : [`${problem}: ${subject}`];
  });
}

const LONGEST = 72;
const SHAPE = /^[a-z][a-z0-9-]*: ([a-z][a-z-]*)\b/;
/** Words that end like a past tense, a third person or a gerund, and are imperatives. */
const IMPERATIVES = /^(?:bring|embed|exceed|feed|need|seed|shed|speed|bypass|focus|process|\w+ss)$/;

function problemOf(subject: string): string | undefined {
  if (subject.length > LONGEST) return `longer than ${LONGEST} characters`;
  const verb = SHAPE.exec(subject)?.[1];
  if (verb === undefined) return 'not "area: imperative summary"';
  if (/(?:ed|ing|s)$/.test(verb) && !IMPERATIVES.test(verb)) return `"${verb}" is not imperative`;
  return undefined;
}
