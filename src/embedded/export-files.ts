// The file of an export, compressed if its name ends in .gz. It gets its name only when it is
// complete.

import { once } from 'node:events';
import { createReadStream, createWriteStream, type WriteStream } from 'node:fs';
import { open, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { createGunzip, createGzip } from 'node:zlib';
import { InvalidInput } from '../support/fault.ts';

const isGzip = (file: string): boolean => file.endsWith('.gz');

export class ExportFile {
  readonly #file: string;
  readonly #disk: WriteStream;
  readonly #into: Writable;
  #failed: Error | undefined;

  private constructor(file: string) {
    this.#file = file;
    this.#disk = createWriteStream(partOf(file), { mode: 0o600 });
    const gzip = isGzip(file) ? createGzip() : undefined;
    gzip?.pipe(this.#disk);
    this.#into = gzip ?? this.#disk;
    for (const stream of [this.#disk, this.#into]) {
      stream.on('error', (error: Error) => {
        this.#failed ??= error;
        gzip?.destroy(error);
      });
    }
  }

  /** Runs before the seal, so that a wrong path seals nothing. */
  static async make(file: string): Promise<ExportFile> {
    const isThere = await stat(file).then(
      () => true,
      () => false,
    );
    if (isThere) {
      throw new InvalidInput(`"${file}" exists. Nothing was sealed. Pass another file.`);
    }
    const made = new ExportFile(file);
    await once(made.#disk, 'open');
    return made;
  }

  async write(text: string): Promise<void> {
    if (this.#failed !== undefined) throw this.#failed;
    if (text === '' || this.#into.write(text)) return;
    await once(this.#into, 'drain');
  }

  /** Writes everything to disk before the file gets its name. */
  async finish(): Promise<void> {
    const isClosed = once(this.#disk, 'close');
    this.#into.end();
    await isClosed;
    if (this.#failed !== undefined) throw this.#failed;
    await sync(partOf(this.#file));
    await rename(partOf(this.#file), this.#file);
    await sync(dirname(this.#file));
  }

  async discard(): Promise<void> {
    this.#into.destroy();
    this.#disk.destroy();
    await unlink(partOf(this.#file)).catch(() => undefined);
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

function partOf(file: string): string {
  return `${file}.part`;
}

/** Yields line by line, including text after the last line end. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const bytes = createReadStream(file);
  const text: Readable = isGzip(file) ? bytes.pipe(createGunzip()) : bytes;
  bytes.on('error', (error) => text.destroy(error));
  let rest: string[] = [];
  for await (const chunk of text.setEncoding('utf8') as AsyncIterable<string>) {
    // Not node:readline: it also breaks lines at characters that JSON leaves unescaped.
    const parts = chunk.split('\n');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      yield rest.length === 0 ? part : `${rest.join('')}${part}`;
      rest = [];
    }
    if (last !== '') rest.push(last);
  }
  if (rest.length > 0) yield rest.join('');
}
