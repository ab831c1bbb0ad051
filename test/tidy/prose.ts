// Sentence figures of prose. The patterns are crude: they show where to look, and a person judges.

export interface ProseFigures {
  readonly words: number;
  readonly sentences: number;
  readonly meanWords: number;
  /** Sentences of more than 25 words, in percent. */
  readonly longPercent: number;
  readonly passivesPer100: number;
  /** Sentences that open with What, Who, Whoever, Of or That, in percent. */
  readonly headlessPercent: number;
  readonly indefinitePer1000: number;
  readonly speechPer1000: number;
  readonly youPer1000: number;
}

const LONG_WORDS = 25;

const PARTICIPLE =
  '(?:\\w+ed|begun|bound|bought|broken|brought|built|caught|chosen|cut|done|drawn|driven|found|forgotten|frozen|given|gone|held|hidden|kept|known|left|lent|lost|made|meant|met|paid|put|read|run|said|seen|sent|set|shown|shut|split|stopped|stuck|taken|thrown|told|understood|woken|written)';
const PASSIVE = new RegExp(
  `\\b(?:is|are|was|were|be|been|being)\\s+(?:(?:not|never|also|only|then|still|already|always|\\w+ly)\\s+)?${PARTICIPLE}\\b`,
  'gi',
);
const HEADLESS = /^(?:What|Who|Whoever|Whatever|Of|That)\s(?!is\s+why\b)[^?]*$/;
const INDEFINITE = /\b(?:nobody|somebody|whoever|whomever|no one|someone)\b/gi;
const SPEECH = /\b(?:say|says|said|saying|tell|tells|told|telling)\b/gi;
const YOU = /\b(?:you|your|yours|we|our|us)\b/gi;

/** The prose of a Markdown page: paragraphs and list items, without code, tables, headings and links' addresses. */
export function proseOfMarkdown(text: string): readonly string[] {
  const plain = text
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^(`{3,}|~{3,})[\s\S]*?^\1/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^(?:import|export) .*$/gm, '')
    .replace(/<[^>\n]+>/g, '')
    .replace(/^\s*(?:#{1,6} .*|\|.*|:::.*|={3,}|-{3,})$/gm, '\n')
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*(?:[-*+]|\d+\.)\s+/gm, '\n\n')
    .replace(/^\s*>\s?/gm, '');
  return plain.split(/\n\s*\n/);
}

/** The prose of TypeScript comments, one block for each run of comment lines. */
export function proseOfComments(commentView: string): readonly string[] {
  const lines = commentView
    .split('\n')
    .map((line) => line.trim().replace(/^(?:\/\/+|\/\*+|\*+\/?)\s?|\s*\*+\/$/g, ''))
    .map((line) => (/^(?:@|biome-ignore|<|─|[│┌└├▲▼])/.test(line) ? '' : line));
  return lines.join('\n').split(/\n\s*\n/);
}

const TEXT = /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/.source;
const TEST_NAME = new RegExp(
  `(?:(?<![\\w$])(?:\\w+\\.)?(?:test|it|describe)\\(\\s*|\\bname:\\s*)${TEXT}`,
  'g',
);
const RULES = /^(?:(?:[A-Z]{1,2}-\d+|P\d)(?:, |: ))+/;

/** The names of tests and contract cases as sentences, without the ids of their rules. */
export function testNamesIn(source: string): readonly string[] {
  return [...source.matchAll(TEST_NAME)]
    .map(([, quoted = '']) => quoted.slice(1, -1).replace(RULES, ''))
    .filter((name) => wordsIn(name) >= 3)
    .map((name) => name.charAt(0).toUpperCase() + name.slice(1));
}

/** Between tags or placeholders, and unlike code. */
const MARKUP = /[>}]([^<>{}=;()|&]*\p{L}{2}[^<>{}=;|&]*)(?=[<{])/gu;

/** The sentences that a page shows: its strings and its JSX text that begin like a sentence. */
export function textsOnPage(stringView: string, codeView: string): readonly string[] {
  const marked = [...codeView.matchAll(MARKUP)].map(([, text = '']) => text);
  return [...stringView.split(/\s{2,}/), ...marked]
    .map((text) => text.trim().replace(/^['"`]|['"`]$/g, ''))
    .filter((text) => /^[A-Z][a-z]* /.test(text));
}

export function sentencesOf(blocks: readonly string[]): readonly string[] {
  return blocks
    .map((block) =>
      block
        .replace(/`[^`]*`/g, 'code')
        .replace(/[*_]{1,2}(\S[^*_]*)[*_]{1,2}/g, '$1')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .flatMap((block) => block.split(/(?<=[.!?:][)"”]?)\s+(?=[("“]?(?:[A-Z]|code\b))/))
    .filter((sentence) => wordsIn(sentence) >= 3);
}

export function measureProse(sentences: readonly string[]): ProseFigures {
  const text = sentences.join('\n');
  const words = wordsIn(text);
  const per = (count: number, whole: number, of: number): number =>
    whole === 0 ? 0 : (count / whole) * of;
  const share = (count: number): number => per(count, sentences.length, 100);
  return {
    words,
    sentences: sentences.length,
    meanWords: per(words, sentences.length, 1),
    longPercent: share(sentences.filter((each) => wordsIn(each) > LONG_WORDS).length),
    passivesPer100: share(countOf(PASSIVE, text)),
    headlessPercent: share(sentences.filter((each) => HEADLESS.test(each)).length),
    indefinitePer1000: per(countOf(INDEFINITE, text), words, 1_000),
    speechPer1000: per(countOf(SPEECH, text), words, 1_000),
    youPer1000: per(countOf(YOU, text), words, 1_000),
  };
}

/** The reasons to look at a sentence. */
export function proseFlaws(sentence: string): readonly string[] {
  const flaws: readonly (readonly [name: string, isThere: boolean])[] = [
    ['long', wordsIn(sentence) > LONG_WORDS],
    ['passive', countOf(PASSIVE, sentence) > 0],
    ['headless', HEADLESS.test(sentence)],
    ['nobody', countOf(INDEFINITE, sentence) > 0],
    ['say', countOf(SPEECH, sentence) > 0],
  ];
  return flaws.flatMap(([name, isThere]) => (isThere ? [name] : []));
}

function wordsIn(text: string): number {
  return countOf(/[\p{L}\p{N}][\p{L}\p{N}'’.-]*/gu, text);
}

function countOf(pattern: RegExp, text: string): number {
  return text.match(pattern)?.length ?? 0;
}
