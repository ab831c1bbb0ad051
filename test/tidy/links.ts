import { posix } from 'node:path';
import { slugOf } from '../../scripts/site/slug.ts';
import type { ProjectFile } from './project-files.ts';

export interface LinkSources {
  readonly documents: readonly ProjectFile[];
  /** Whether a path from the repository's root is a file or a folder. */
  exists(path: string): boolean;
}

const INLINE = /\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g;
const REFERENCE = /^\s*\[[^\]]+\]:\s*<?(\S+?)>?\s*$/gm;
const EXTERNAL = /^[a-z][a-z0-9+.-]*:/i;

/** Relative links that lead nowhere: no such file, or no such heading in it. */
export function linkProblems({ documents, exists }: LinkSources): readonly string[] {
  const anchors = new Map(documents.map((file) => [file.path, anchorsOf(file.text)]));
  return documents.flatMap((file) => {
    const prose = withoutCode(file.text);
    const targets = [...prose.matchAll(INLINE), ...prose.matchAll(REFERENCE)];
    return targets
      .map(([, target = '']) => target)
      .filter((target) => !EXTERNAL.test(target))
      .flatMap((target) => {
        const [path = '', anchor] = target.split('#');
        const resolved = path === '' ? file.path : resolveLink(file.path, decodeURI(path));
        if (!exists(resolved)) {
          return [`${file.path}: the link ${target} leads to no file (${resolved})`];
        }
        const known = anchors.get(resolved);
        const missing = anchor !== undefined && known !== undefined && !known.has(anchor);
        return missing ? [`${file.path}: the link ${target} leads to no heading`] : [];
      });
  });
}

function resolveLink(from: string, target: string): string {
  const path = target.startsWith('/') ? target.slice(1) : posix.join(posix.dirname(from), target);
  return path.replace(/\/$/, '');
}

/** Anchors as the common forges make them from headings, and those set by hand. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const text = markdown.replace(/^(```|~~~)[\s\S]*?^\1/gm, '');
  const anchors = new Set(
    [...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id]) => id ?? ''),
  );
  for (const [, heading = ''] of text.matchAll(/^#{1,6}\s+(.+?)\s*#*$/gm)) {
    const slug = slugOf(heading);
    let unique = slug;
    for (let count = 1; anchors.has(unique); count += 1) {
      unique = `${slug}-${count}`;
    }
    anchors.add(unique);
  }
  return anchors;
}

function withoutCode(markdown: string): string {
  return markdown.replace(/^\s*(```|~~~)[\s\S]*?^\s*\1/gm, '').replace(/`[^`\n]*`/g, '');
}
