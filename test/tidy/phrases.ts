import type { ProjectFile } from './project-files.ts';
import { proseFlaws, proseOfMarkdown, sentencesOf, testNamesIn, textsOnPage } from './prose.ts';
import { viewOf } from './source-view.ts';

/** Phrases that readers have to decode, each with the way out. */
const BANNED: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/^(?:What|Who|Whoever|Whatever|Of|That)\s(?!is why\b)[^?]*$/, 'begin with the actor'],
  [/\b(?:nobody|somebody|whoever|whomever)\b/i, 'name the worker, client or caller'],
  [/\bunless (?:it is )?said\b/i, 'write "by default"'],
  [/\b(?:is|are|was|were|be) (?:said|told|heard)\b/i, 'programs return, throw, log or send'],
  [/\b(?:for so long|so often|goes on being)\b/i, 'state the duration, the count or the state'],
];

/** The sentences of Markdown pages with a banned phrase. */
export function bannedPhrases(pages: readonly ProjectFile[]): readonly string[] {
  return pages.flatMap(({ path, text }) =>
    sentencesOf(proseOfMarkdown(text)).flatMap((sentence) => problemsOf(path, sentence)),
  );
}

/** The names of tests and contract cases with a banned phrase. */
export function bannedInTestNames(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    testNamesIn(text).flatMap((name) => problemsOf(path, name)),
  );
}

/** The texts of console pages with a banned phrase, that are long, or whose programs speak. */
export function bannedOnPages(files: readonly ProjectFile[]): readonly string[] {
  return files.flatMap(({ path, text }) =>
    sentencesOf(textsOnPage(viewOf(text, 'string'), viewOf(text, 'code'))).flatMap((sentence) => [
      ...problemsOf(path, sentence),
      ...proseFlaws(sentence)
        .filter((flaw) => flaw === 'long' || flaw === 'say')
        .map((flaw) => `${path}: ${flaw}: ${sentence}`),
    ]),
  );
}

function problemsOf(path: string, sentence: string): readonly string[] {
  return BANNED.filter(([phrase]) => phrase.test(sentence)).map(
    ([, instead]) => `${path}: ${instead}: ${sentence}`,
  );
}
