// Compresses responses for clients that accept it. The work runs on zlib's threads. Few run at once,
// because they share their cores with the store and the event loop; further responses are sent as
// they are.

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

export type Encoding = 'br' | 'gzip';

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** Smaller texts fit into one packet anyway. */
const BYTES_MIN = 1_024;
const AT_ONCE_MAX = 2;

/** Reads the header `accept-encoding`: brotli before gzip, unless the client prefers gzip. */
export function encodingFor(accept: string | undefined): Encoding | undefined {
  const weights = new Map(
    (accept ?? '').split(',').map((each) => {
      const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
      const q = parameters.find((part) => part.startsWith('q='))?.slice(2);
      return [name, q === undefined ? 1 : Number(q)];
    }),
  );
  const weightOf = (name: Encoding): number => weights.get(name) ?? weights.get('*') ?? 0;
  const [br, gz] = [weightOf('br'), weightOf('gzip')];
  if (br > 0 && br >= gz) return 'br';
  return gz > 0 ? 'gzip' : undefined;
}

/** For files, which are compressed once. */
export function compressedFile(bytes: Buffer, encoding: Encoding): Promise<Buffer> {
  return encoding === 'gzip'
    ? compressGzip(bytes, { level: 9 })
    : compressBrotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
}

let running = 0;

/** Undefined if the text is small, or if enough others are under way. */
export async function compressedText(
  text: string,
  encoding: Encoding,
): Promise<Buffer | undefined> {
  if (text.length < BYTES_MIN || running >= AT_ONCE_MAX) return undefined;
  running += 1;
  try {
    return await (encoding === 'gzip'
      ? compressGzip(text, { level: 4 })
      : compressBrotli(text, {
          params: {
            [constants.BROTLI_PARAM_QUALITY]: 4,
            [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
          },
        }));
  } finally {
    running -= 1;
  }
}
