// The place of one test: a fresh store, any number of processes, oracles. All of it is removed when
// the test ends, however it ends.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LeaseService } from '../../../src/index.ts';
import type { OracleMode, OracleRecord } from '../oracle/record.ts';
import type { Backend } from './backend.ts';
import { Child } from './child.ts';
import { openStoreAt, type StoreAddress } from './store-address.ts';

export interface Oracle {
  readonly port: number;
  records(): Promise<readonly OracleRecord[]>;
}

export class Stage implements AsyncDisposable {
  readonly address: StoreAddress;
  /** This process's own view of the store. */
  readonly store: LeaseService;
  readonly #folder: string;
  readonly #children: { kill(): Promise<unknown> }[] = [];

  private constructor(address: StoreAddress, store: LeaseService, folder: string) {
    this.address = address;
    this.store = store;
    this.#folder = folder;
  }

  static async on(backend: Backend): Promise<Stage> {
    return Stage.at(await backend.fresh());
  }

  static async at(address: StoreAddress): Promise<Stage> {
    const store = await openStoreAt(address);
    return new Stage(address, store, await mkdtemp(join(tmpdir(), 'holdfast-stage-')));
  }

  start<Api extends object>(entry: string, args: readonly string[] = []): Child<Api> {
    const child = new Child<Api>(entry, args);
    this.#children.push(child);
    return child;
  }

  /** A path that only this stage has, of a file that does not exist yet. */
  file(name: string): string {
    return join(this.#folder, name);
  }

  async oracle(mode: OracleMode): Promise<Oracle> {
    const file = this.file(`oracle-${this.#children.length}.jsonl`);
    const child = this.start('oracle/server.ts', [mode, file]);
    const { port } = (await child.next('listening')) as { readonly port: number };
    return { port, records: () => readRecords(file) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
    await this.store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function readRecords(file: string): Promise<readonly OracleRecord[]> {
  const text = await readFile(file, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as OracleRecord);
}
