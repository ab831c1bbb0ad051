// A message of the worker protocol as data, and the schemas that the tables of messages share.

import { type TObject, type TProperties, type TSchema, type TUnion, Type } from 'typebox';
import type { Role } from '../../features/access/model.ts';
import type { DocumentedResponse, Method, Tag } from './operation.ts';
import { documented, flag, integer, listOf, optional, text, textLike, uuid } from './words.ts';

interface Spec {
  /**
   * The address over HTTP. Names in the path come from the body. The rest is the request body, or
   * the query of a GET.
   */
  readonly at: `${Method} /${string}`;
  /** Roles that may send it. Default: `work`. */
  readonly allows?: readonly Role[];
  /** Its group in the API description. Default: the worker protocol. */
  readonly tag?: Tag;
  /** Imperative, without a full stop. */
  readonly summary: string;
  /** Its effect, its writes, its refusals, and whether repeating it is safe. */
  readonly description: string;
  /** Problems beside those that any operation may return, by status. */
  readonly problems?: Readonly<Record<number, DocumentedResponse>>;
  /** All fields in one object. */
  readonly body: TObject;
  /** Absent: an empty reply, or bytes. */
  readonly reply?: TSchema;
  /** Repeating it is harmless. */
  readonly isRead?: boolean;
  /** The coordinator holds it open until there is something to send, or only with a `waitMs`. */
  readonly isLong?: boolean | 'with-wait';
  /** The body has users' values, which may be large. */
  readonly takesValues?: boolean;
  /** The request or the reply carries bytes. */
  readonly bytes?: 'sent' | 'answered';
}

export interface WorkMessage extends Spec {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
}

export function message<const Of extends Spec>(
  spec: Of,
): Of & Pick<WorkMessage, 'method' | 'path'> {
  const [method, path = ''] = spec.at.split(' ') as [WorkMessage['method'], string];
  return { ...spec, method, path };
}

export const at = integer('Store time, in milliseconds since 1970.', 1_794_907_800_000);
export const digest = textLike(
  '^[0-9a-f]{64}$',
  'SHA-256 digest of the bytes, in hexadecimal.',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
);
export const sessionId = documented(uuid, 'Id of the session.');

const refused = Type.Object(
  {
    kind: Type.Literal('refused', { description: 'The store refused it.' }),
    why: text('Code of the refusal.', 'superseded'),
  },
  { title: 'StoreRefusal', description: 'Nothing was written. Other fields depend on `why`.' },
);

export function resultOf(kind: string, more: TProperties): TUnion {
  const done = Type.Literal(kind, { description: 'The store did it.' });
  return Type.Union([Type.Object({ kind: done, ...more }), refused]);
}

export function itemsPageOf(item: TSchema): TObject {
  const more = flag('True if the page ended early: ask again after its last item.');
  return Type.Object({ items: listOf(item, 'The items of this page.'), more: optional(more) });
}

export const NO_SESSION = {
  404: {
    what: 'The session was not opened with this key in this project. Open a new one.',
    codes: ['session-unknown'],
  },
} as const;
