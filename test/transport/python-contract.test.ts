// The transport contract over the HTTP of the Python package: a process in Python carries each message.

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import {
  REPLY_TIMEOUT_MS,
  type ReplyEnvelope,
  resultIn,
  type Transport,
  type TransportRequest,
} from '../../src/protocol/messages/envelope.ts';
import { workMessage } from '../../src/protocol/messages/work-messages.ts';
import { StoreUnavailable } from '../../src/support/fault.ts';
import { findPython, PYTHON_CLIENT, pythonEnvironment } from '../services/python.ts';
import { backendOf } from './backend.ts';
import { registerTransportContract } from './register.ts';
import { restKind } from './rest-kind.ts';

type Reply = Omit<ReplyEnvelope, 'v' | 'bytes'> & { readonly bytes?: string };

/** The process, with the requests that wait for it. */
class PythonHttp {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<string, (reply: Reply) => void>();
  #count = 0;

  constructor(program: string) {
    this.#child = spawn(program, [join(PYTHON_CLIENT, 'tests/transport.py')], {
      env: pythonEnvironment(),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const reply = JSON.parse(line) as Reply;
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    });
  }

  ask(request: object): Promise<Reply> {
    this.#count += 1;
    const id = String(this.#count);
    this.print({ ...request, id });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  print(request: object): void {
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
  }

  stop(): void {
    this.#child.kill();
  }
}

let python: PythonHttp | undefined;
let opened = 0;

after(() => python?.stop());

async function pythonTransport(url: string, key: string): Promise<Transport> {
  python ??= new PythonHttp(await findPython());
  const http = python;
  opened += 1;
  const transport = opened;
  return {
    name: 'Python',
    async request<Result>(message: TransportRequest): Promise<Result> {
      const { signal, timeoutMs = REPLY_TIMEOUT_MS } = message;
      const replied = http.ask({ transport, url, key, timeoutMs, ...addressOf(message) });
      const { bytes, ...reply } = await Promise.race([replied, aborted(signal)]);
      const sent = {
        ...reply,
        v: 2,
        ...(bytes && { bytes: Uint8Array.from(Buffer.from(bytes, 'base64')) }),
      };
      return resultIn<Result>(message, sent as ReplyEnvelope);
    },
    async close() {
      http.print({ transport, close: true });
    },
  };
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new StoreUnavailable('The caller stopped waiting.'));
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** Where a message goes: fields of the path, then the query or the body. */
function addressOf({ kind, body = {}, bytes }: TransportRequest): object {
  const { method, path } = workMessage(kind);
  const rest = new Map<string, unknown>(Object.entries(body));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = encodeURIComponent(String(rest.get(name)));
    rest.delete(name);
    return value;
  });
  const fields = Object.fromEntries(rest);
  if (bytes !== undefined) {
    return { method, path: filled, bytes: Buffer.from(bytes).toString('base64') };
  }
  if (method === 'GET') return { method, path: filled, query: fields };
  return { method, path: filled, ...(rest.size > 0 && { body: fields }) };
}

registerTransportContract(
  backendOf({
    ...restKind,
    name: 'Python',
    transport: ({ url }, key) => pythonTransport(url, key),
  }),
  { count: 12 },
);
