// A cheap HTTP client, so that the bench measures the coordinator. It keeps connections open and does not
// validate responses.

import { Agent, request } from 'node:http';

export class Caller {
  readonly #agent: Agent = new Agent({ keepAlive: true, maxSockets: 2_048 });
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(base: string, key?: string) {
    this.#base = base;
    this.#headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  }

  async submit(): Promise<string> {
    const { status, body } = await this.call('POST', '/v1/executions', '{"pipeline":"timed"}');
    if (status !== 202) throw new Error(`A submit returned ${status}: ${body}`);
    return (JSON.parse(body) as { id: string }).id;
  }

  async result(id: string): Promise<unknown> {
    for (;;) {
      const { status, body } = await this.call('GET', `/v1/executions/${id}/result?waitMs=20000`);
      if (status === 200) return (JSON.parse(body) as { output?: unknown }).output;
      if (status !== 202) throw new Error(`A result returned ${status}: ${body}`);
    }
  }

  call(
    method: string,
    path: string,
    body?: string | Uint8Array,
  ): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const headers = {
        ...this.#headers,
        ...(body === undefined ? {} : { 'content-type': typeOf(body) }),
      };
      const outgoing = request(`${this.#base}${path}`, { method, agent: this.#agent, headers });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8');
          resolve({ status: response.statusCode ?? 0, body: text });
        });
      });
      outgoing.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function typeOf(body: string | Uint8Array): string {
  return typeof body === 'string' ? 'application/json' : 'application/octet-stream';
}
