// REST pull: every message is a request to its route, and the bell is one that is held open.

import type { Ask, Carrier } from '../protocol/messages/carrier.ts';
import { workMessage } from '../protocol/messages/work-messages.ts';
import { type HttpAsk, Link, type LinkOptions } from './link.ts';

export function httpCarrier(options: LinkOptions): Carrier {
  const link = new Link(options);
  return {
    name: 'REST',
    ask: <Answer>(ask: Ask) => link.send<Answer>(requestOf(ask)),
    close: async () => undefined,
  };
}

function requestOf({ kind, body = {}, bytes, signal, timeoutMs }: Ask): HttpAsk {
  const { method, path, isRead = false } = workMessage(kind);
  const rest = new Map<string, unknown>(Object.entries(body));
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = String(rest.get(name));
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const asked = method === 'GET' ? queryOf(rest) : '';
  const hasBody = method === 'POST' && rest.size > 0;
  return {
    method,
    path: `${filled}${asked}`,
    isRead,
    isPulse: kind === 'heartbeat',
    ...(hasBody ? { body: Object.fromEntries(rest) } : {}),
    ...(bytes === undefined ? {} : { bytes }),
    ...(signal === undefined ? {} : { signal }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function queryOf(values: ReadonlyMap<string, unknown>): string {
  const given = [...values].filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(
    given.map(([name, value]): [string, string] => [name, String(value)]),
  );
  return query.size === 0 ? '' : `?${query}`;
}
