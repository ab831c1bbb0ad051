import assert from 'node:assert/strict';

export interface RawKey {
  readonly key: string;
  readonly value: string;
  readonly lease: string;
}

interface Answer {
  readonly kvs?: readonly { key: string; value?: string; lease?: string }[];
}

/** etcd without our client, through its JSON gateway. */
export class RawEtcd {
  readonly #endpoint: string;

  constructor(endpoints: readonly string[]) {
    this.#endpoint = endpoints[0] ?? '';
  }

  /** Every key that starts with this. */
  async list(prefix: string): Promise<readonly RawKey[]> {
    const answer = await this.#call('kv/range', below(prefix));
    return (answer.kvs ?? []).map(({ key, value = '', lease = '0' }) => ({
      key: decoded(key),
      value: decoded(value),
      lease,
    }));
  }

  async put(key: string, value: string): Promise<void> {
    await this.#call('kv/put', { key: encoded(key), value: encoded(value) });
  }

  async deleteBelow(prefix: string): Promise<void> {
    await this.#call('kv/deleterange', below(prefix));
  }

  /** Revokes a native lease, as etcd does when it has run out. */
  async revokeLease(lease: string): Promise<void> {
    await this.#call('lease/revoke', { ID: lease });
  }

  /** Compacts all history before the newest revision. */
  async compact(): Promise<void> {
    const { header } = (await this.#call('kv/range', { key: encoded('\0') })) as {
      header?: { revision: string };
    };
    await this.#call('kv/compaction', { revision: header?.revision, physical: true });
  }

  async #call(path: string, body: object): Promise<Answer> {
    const answer = await fetch(`${this.#endpoint}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    assert.ok(answer.ok, await answer.clone().text());
    return (await answer.json()) as Answer;
  }
}

function below(prefix: string): { readonly key: string; readonly range_end: string } {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end.at(-1) ?? 0) + 1;
  return { key: encoded(prefix), range_end: end.toString('base64') };
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decoded(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
