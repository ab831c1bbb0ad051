import { linkOf, type Section } from './sections.ts';

/** The first page of the site: a card for each section. */
export function homePage(sections: readonly Section[]): string {
  const [start] = sections;
  const front = {
    layout: 'home',
    title: 'Documentation',
    hero: {
      name: 'Holdfast',
      text: 'Long work that survives crashes',
      tagline:
        'You write an async function. Holdfast records each step, and another process resumes where the last one stopped.',
      actions:
        start === undefined
          ? []
          : [{ theme: 'brand', text: start.title, link: linkOf(start.pages[0]) }],
    },
    features: sections.map((section) => ({
      title: section.title,
      details: section.about,
      link: linkOf(section.pages[0]),
    })),
  };
  // JSON is valid YAML.
  return `---\n${JSON.stringify(front, null, 2)}\n---\n`;
}
