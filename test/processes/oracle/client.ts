import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { OracleAnswer, OracleWrite } from './record.ts';

interface Pending {
  readonly resolve: (answer: OracleAnswer) => void;
  readonly reject: (reason: Error) => void;
}

/** One connection; answers come in the order of the writes. */
export class OracleClient {
  readonly #socket: Socket;
  readonly #pending: Pending[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    const lines = createInterface({ input: socket });
    lines.on('error', () => undefined);
    lines.on('line', (line) => {
      this.#pending.shift()?.resolve(JSON.parse(line));
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      for (const { reject } of this.#pending.splice(0)) reject(new Error('the oracle is gone'));
    });
  }

  static async connect(port: number): Promise<OracleClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new OracleClient(socket);
  }

  write(write: OracleWrite): Promise<OracleAnswer> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ resolve, reject });
      this.#socket.write(`${JSON.stringify(write)}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
