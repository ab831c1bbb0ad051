import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Returns the links of built pages whose file or anchor does not exist. */
export function deadLinks(folder: string, base: string): readonly string[] {
  const pages = new Map(
    globSync('**/*.html', { cwd: folder })
      .sort()
      .map((path) => [path, readFileSync(join(folder, path), 'utf8')]),
  );
  const ids = new Map(
    [...pages].map(([path, html]) => [path, new Set(attributesOf(html, 'id').map(decodeURI))]),
  );
  return [...pages].flatMap(([path, html]) =>
    [...new Set(attributesOf(html, 'href'))]
      .filter((href) => !/^[a-z][a-z0-9+.-]*:/i.test(href))
      .flatMap((href) => {
        const [target = '', anchor = ''] = href.replaceAll('&amp;', '&').split('#');
        const file = fileOf(target, path, base);
        const isThere = file !== undefined && existsSync(join(folder, file));
        if (!isThere) return [`${path}: ${href} leads to no file`];
        const known = ids.get(file);
        const isAnchor = anchor === '' || known === undefined || known.has(decodeURI(anchor));
        return isAnchor ? [] : [`${path}: ${href} leads to no heading`];
      }),
  );
}

function attributesOf(html: string, name: string): readonly string[] {
  return [...html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, 'g'))].map(([, value = '']) => value);
}

function fileOf(target: string, from: string, base: string): string | undefined {
  if (target === '') return from;
  const path = target.startsWith('/')
    ? target.startsWith(base)
      ? target.slice(base.length)
      : undefined
    : posix.join(posix.dirname(from), target);
  if (path === undefined) return undefined;
  return path === '' || path.endsWith('/') ? `${path}index.html` : path;
}
