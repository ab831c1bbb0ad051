import { dirname, join, relative } from 'node:path/posix';

/** Matches code, which stays as it is, or a link: the `!` of an image, the text and the target. */
const CODE_OR_LINK =
  /^(?<fence>[ \t]*(?:`{3,}|~{3,}))[\s\S]*?^\k<fence>|(?<ticks>`+)[^`][\s\S]*?\k<ticks>|(?<image>!?)\[(?<text>(?:[^[\]`]|`[^`]*`|\[[^\]]*\])*)\]\((?<target>[^)\s]+)\)/gm;

const EXTERNAL = /^[a-z][a-z0-9+.-]*:/i;

/**
 * Turns links between files of the repository into links between pages of the site. A link to a file
 * that the site does not have, such as a source, becomes plain text.
 */
export function siteLinks(
  text: string,
  page: { readonly source: string; readonly path: string },
  pathOf: (source: string) => string | undefined,
): string {
  return text.replaceAll(CODE_OR_LINK, (...match) => {
    const [whole] = match as unknown as readonly [string];
    const groups = match.at(-1) as Readonly<Record<string, string | undefined>>;
    const { target, text: label = '', image = '' } = groups;
    if (target === undefined || EXTERNAL.test(target) || target.startsWith('#')) return whole;
    const [path = '', anchor] = target.split('#');
    const inSite = pathOf(join(dirname(page.source), decodeURI(path)).replace(/\/$/, ''));
    if (inSite === undefined) return label;
    const to = relative(dirname(page.path), inSite);
    const shown = to.startsWith('.') ? to : `./${to}`;
    return `${image}[${label}](${shown}${anchor === undefined ? '' : `#${anchor}`})`;
  });
}
