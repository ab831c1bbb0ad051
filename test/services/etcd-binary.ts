import { delimiter, join } from 'node:path';
import { withApt } from './apt.ts';
import { cachedFolder, exists } from './project-cache.ts';
import { runCommand } from './run-command.ts';

export interface EtcdBinary {
  readonly source: 'path' | 'apt';
  readonly program: string;
  readonly version: string;
}

/** The first that runs here: one on the PATH, else the distribution's package in the cache. */
export async function findEtcdBinary(): Promise<EtcdBinary> {
  const reasons: string[] = [];
  for (const find of [etcdOnPath, etcdFromApt]) {
    try {
      const found = await find();
      const output = await runCommand(found.program, ['--version']);
      const version = /etcd Version: (3\.(?:[4-9]|\d\d)\S*)/.exec(output)?.[1];
      if (version !== undefined) return { ...found, version };
      reasons.push(`${found.source}: ${found.program} is not 3.4 or newer`);
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `No etcd could be found or fetched:\n${reasons.map((reason) => `  ${reason}`).join('\n')}\n` +
      'Put `etcd` on PATH, or make the package archive reachable, ' +
      'or leave etcd out by name: npm test -- --without=etcd',
  );
}

async function etcdOnPath(): Promise<Omit<EtcdBinary, 'version'>> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const program = join(folder, 'etcd');
    if (await exists(program)) return { source: 'path', program };
  }
  throw new Error('path: no folder of PATH holds etcd');
}

/** It needs nothing but the C library, so there is nothing else to unpack. */
async function etcdFromApt(): Promise<Omit<EtcdBinary, 'version'>> {
  const root = await cachedFolder('etcd-apt', (folder) =>
    withApt(folder, (apt) => apt.unpack(['etcd-server'])),
  );
  return { source: 'apt', program: join(root, 'usr/bin/etcd') };
}
