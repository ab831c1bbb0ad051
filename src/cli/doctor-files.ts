// Files with secrets or values in them that other users of the machine can read.

import { stat } from 'node:fs/promises';
import { storePlace } from '../embedded/open-store.ts';
import type { Config } from '../server/config.ts';
import { shownPath } from '../support/hidden-options.ts';
import type { Finding } from './finding.ts';

const OTHERS = 0o077;

export async function fileFindings(config: Config): Promise<readonly Finding[]> {
  const { archive, links, push, sqs, tls } = config;
  const files: readonly (readonly [name: string, path: string | undefined])[] = [
    ['store', fileOf(config.store)],
    ['tls.keyFile', tls.keyFile],
    ['links.signingFile', links.signingFile],
    ['sqs.keysFile', sqs.keysFile],
    ['push.signingFile', push.signingFile],
    ...(push.endpoints ?? []).map(({ signingFile }) => ['push.endpoints', signingFile] as const),
    ['archive.folder', archive.folder],
  ];
  const found = await Promise.all(files.map(([name, path]) => modeFinding(name, path)));
  return found.filter((finding) => finding !== undefined);
}

/** What is no place of a store is another finding's. */
function fileOf(store: string): string | undefined {
  try {
    const place = storePlace(store);
    return place.kind === 'sqlite' ? place.file : undefined;
  } catch {
    return undefined;
  }
}

/** A file that is not there, or cannot be looked at, is another finding's. */
async function modeFinding(what: string, path: string | undefined): Promise<Finding | undefined> {
  // Windows has no such modes.
  if (path === undefined || process.platform === 'win32') return undefined;
  const stats = await stat(path).catch(() => undefined);
  if (stats === undefined || (stats.mode & OTHERS) === 0) return undefined;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, '0');
  const wanted = stats.isDirectory() ? '700' : '600';
  return {
    what,
    found: `${shownPath(path)} is open to other users of this machine (${mode})`,
    change: `Keep it to the user that runs Holdfast: chmod ${wanted} ${shownPath(path)}`,
  };
}
