// llms.txt and llms-full.txt: the list of pages and their whole text, for language models.

import { frontMatterOf, type Page, type Section } from './sections.ts';

const SUMMARY =
  'Holdfast runs long, multi-step work that survives crashes, restarts and deploys, on SQLite or PostgreSQL. ' +
  'It is a lease library with fences, an embedded engine and a self-hosted coordinator, for TypeScript. ' +
  'The coordinator also has workers and clients in Python.';

/** Rules, decisions and the log of bugs are for contributors. */
const FULL_WITHOUT = 'internals';

/** A form to copy, without content of its own. */
export const TEMPLATE = 'internals/adr/0000-template.md';

export function llmsList(sections: readonly Section[], base: string): string {
  const parts = sections.map(({ title, pages }) => {
    const lines = pages
      .filter(({ path }) => path !== TEMPLATE)
      .map((page) => `- [${page.title}](${base}${htmlOf(page)})${about(page)}`);
    return `## ${title}\n\n${lines.join('\n')}`;
  });
  return `# Holdfast\n\n> ${SUMMARY}\n\n${parts.join('\n\n')}\n`;
}

export function llmsFull(sections: readonly Section[]): string {
  const pages = sections.filter(({ name }) => name !== FULL_WITHOUT).flatMap((each) => each.pages);
  const texts = pages.map(({ path, text }) => `<!-- ${path} -->\n\n${bodyOf(text).trim()}`);
  return `# Holdfast\n\n> ${SUMMARY}\n\n${texts.join('\n\n---\n\n')}\n`;
}

function about({ text }: Page): string {
  const { description } = frontMatterOf(text);
  if (description !== undefined) return `: ${description}`;
  const first = bodyOf(text)
    .split(/\n\s*\n/)
    .map((block) => block.trim())
    .find((block) => /^(?:[A-Za-z`[]|\*\*)/.test(block));
  const [sentence] = (first ?? '').replaceAll(/\s+/g, ' ').split(/(?<=[.!?]) /);
  return sentence === undefined || sentence === '' ? '' : `: ${withoutLinks(sentence)}`;
}

function bodyOf(text: string): string {
  return text.replace(/^---\n[\s\S]*?\n---\n/, '');
}

function withoutLinks(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
}

function htmlOf({ path }: Page): string {
  return path.replace(/\.md$/, '.html');
}
