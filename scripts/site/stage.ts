// Copies the pages into one folder, at their paths in the site, and adapts the links between them.

import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { homePage } from './home.ts';
import { siteLinks } from './links.ts';
import { assetsOf, linkOf, type Page, type Section } from './sections.ts';

const ROOT = join(import.meta.dirname, '../..');

interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly SidebarItem[];
}

/** The generator's configuration reads this. */
export interface Navigation {
  readonly nav: readonly {
    readonly text: string;
    readonly link: string;
    readonly activeMatch: string;
  }[];
  readonly sidebar: Readonly<Record<string, readonly SidebarItem[]>>;
}

/** Writes all pages. It does not touch unchanged files, so that a running server sees only edits. */
export function stage(sections: readonly Section[], folder: string): void {
  const pages = sections.flatMap((section) => section.pages);
  const assets = assetsOf();
  const paths = new Map([
    ['README.md', 'index.md'],
    ...pages.map(({ source, path }): [string, string] => [source, path]),
    // A link to a folder leads to its first page.
    ...sections.flatMap(({ name, pages: [first] }): [string, string][] =>
      first === undefined ? [] : [[`docs/${name}`, first.path]],
    ),
    ...assets.map((path): [string, string] => [path, path.replace(/^docs\//, '')]),
  ]);
  const staged = new Map(
    pages.map((page) => [page.path, siteLinks(page.text, page, (source) => paths.get(source))]),
  );
  staged.set('index.md', homePage(sections));
  for (const [path, text] of staged) writeIfChanged(join(folder, 'pages', path), text);
  for (const path of assets) {
    cpSync(join(ROOT, path), join(folder, 'pages', paths.get(path) ?? path));
  }
  writeIfChanged(join(folder, 'navigation.json'), JSON.stringify(navigationOf(sections)));
}

/** Removes pages of an earlier run, because some may have moved. */
export function clear(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

function writeIfChanged(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

export function navigationOf(sections: readonly Section[]): Navigation {
  return {
    nav: sections.map(({ name, title, pages }) => ({
      text: title,
      link: linkOf(pages[0]),
      activeMatch: `^/${name}/`,
    })),
    sidebar: Object.fromEntries(
      sections.map(({ name, title, pages }) => [
        `/${name}/`,
        [{ text: title, items: itemsOf(pages) }],
      ]),
    ),
  };
}

/** Puts the pages of a group together, at the position of the first one. */
function itemsOf(pages: readonly Page[]): readonly SidebarItem[] {
  const items = new Map<string, Page[]>();
  for (const page of pages) {
    const key = page.group ?? page.path;
    items.set(key, [...(items.get(key) ?? []), page]);
  }
  return [...items].map(([key, [first, ...others]]) =>
    first?.group === undefined
      ? itemOf(first)
      : { text: key, collapsed: true, items: [first, ...others].map(itemOf) },
  );
}

function itemOf(page: Page | undefined): SidebarItem {
  return { text: page?.title ?? '', link: linkOf(page) };
}
