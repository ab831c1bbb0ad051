// The part of Protocol Buffers that etcd's API and ours need: integers, bytes, text and messages. A
// shape maps fields to numbers. Decoding skips unknown fields, or reports them.

/**
 * `int` is a safe integer; `id` is 64 bits as decimal text, because JavaScript has no number for
 * it.
 */
type Kind = 'int' | 'id' | 'bool' | 'bytes' | 'text';

interface Field {
  readonly no: number;
  readonly kind: Kind | Shape;
  readonly many?: true;
  /** For the types only: a message to send may omit it. */
  readonly optional?: true;
}

export interface Shape {
  readonly [name: string]: Field;
}

interface Values {
  readonly int: number;
  readonly id: string;
  readonly bool: boolean;
  readonly text: string;
}

type SentOne<Of> = Of extends keyof Values
  ? Values[Of]
  : Of extends Shape
    ? SentMessage<Of>
    : Uint8Array;

type SentIn<Each extends Field> = Each extends { readonly many: true }
  ? readonly SentOne<Each['kind']>[]
  : SentOne<Each['kind']>;

type OptionalIn<Of extends Shape> = {
  [Name in keyof Of]: Of[Name] extends { readonly optional: true } ? Name : never;
}[keyof Of];

/** A message of this shape, as `encode` takes it. */
export type SentMessage<Of extends Shape> = {
  readonly [Name in Exclude<keyof Of, OptionalIn<Of>>]: SentIn<Of[Name]>;
} & { readonly [Name in OptionalIn<Of>]?: SentIn<Of[Name]> };

type ReceivedOne<Of> = Of extends keyof Values
  ? Values[Of]
  : Of extends Shape
    ? ReceivedMessage<Of>
    : Buffer;

/** A missing message stays absent. */
type MissingIn<Of extends Shape> = {
  [Name in keyof Of]: Of[Name] extends { readonly kind: Shape }
    ? Of[Name] extends { readonly many: true }
      ? never
      : Name
    : never;
}[keyof Of];

/** A message of this shape, as `decode` returns it. */
export type ReceivedMessage<Of extends Shape> = {
  readonly [Name in Exclude<keyof Of, MissingIn<Of>>]: Of[Name] extends { readonly many: true }
    ? readonly ReceivedOne<Of[Name]['kind']>[]
    : ReceivedOne<Of[Name]['kind']>;
} & { readonly [Name in MissingIn<Of>]?: ReceivedOne<Of[Name]['kind']> };

type Message = Readonly<Record<string, unknown>>;

const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

const NOTHING: Buffer = Buffer.alloc(0);

export function encode(shape: Shape, message: object): Buffer {
  const parts: Uint8Array[] = [];
  for (const name of Object.keys(shape)) {
    const field = shape[name];
    const value = (message as Message)[name];
    if (field === undefined || value === undefined) continue;
    if (field.many === true)
      for (const each of value as readonly unknown[]) put(parts, field, each);
    else put(parts, field, value);
  }
  return Buffer.concat(parts);
}

/** Missing integers, bytes and text become zero and empty. A missing message stays absent. */
export function decode<Decoded>(
  shape: Shape,
  bytes: Buffer,
  onUnknown?: (no: number) => void,
): Decoded {
  const message: Record<string, unknown> = {};
  const byNumber = fieldsOf(shape, message);
  const reader = { bytes, at: 0 };
  while (reader.at < bytes.length) {
    const tag = readInt(reader);
    const known = byNumber.get(Math.floor(tag / 8));
    const value = read(reader, tag % 8, known?.field);
    if (known === undefined) {
      onUnknown?.(Math.floor(tag / 8));
      continue;
    }
    if (known.field.many === true) (message[known.name] as unknown[]).push(value);
    else message[known.name] = value;
  }
  return message as Decoded;
}

interface Named {
  readonly name: string;
  readonly field: Field;
}

const indexes: WeakMap<Shape, ReadonlyMap<number, Named>> = new WeakMap();

function fieldsOf(shape: Shape, message: Record<string, unknown>): ReadonlyMap<number, Named> {
  let index = indexes.get(shape);
  if (index === undefined) {
    index = new Map(Object.entries(shape).map(([name, field]) => [field.no, { name, field }]));
    indexes.set(shape, index);
  }
  for (const { name, field } of index.values()) {
    if (field.many === true) message[name] = [];
    else if (typeof field.kind === 'string') message[name] = DEFAULTS[field.kind];
  }
  return index;
}

const DEFAULTS: Readonly<Record<Kind, unknown>> = {
  int: 0,
  id: '0',
  bool: false,
  bytes: NOTHING,
  text: '',
};

function put(parts: Uint8Array[], field: Field, value: unknown): void {
  const { no, kind } = field;
  if (kind === 'int') parts.push(varint(no * 8 + VARINT), varint(value as number));
  else if (kind === 'id') parts.push(varint(no * 8 + VARINT), longVarint(BigInt(value as string)));
  else if (kind === 'bool') parts.push(varint(no * 8 + VARINT), varint(value === true ? 1 : 0));
  else {
    const body = bodyOf(kind, value);
    parts.push(varint(no * 8 + LENGTH), varint(body.length), body);
  }
}

function bodyOf(kind: 'bytes' | 'text' | Shape, value: unknown): Uint8Array {
  if (kind === 'bytes') return value as Uint8Array;
  return kind === 'text' ? Buffer.from(value as string) : encode(kind, value as object);
}

function varint(value: number): Uint8Array {
  if (value < 0x80) return Uint8Array.of(value);
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

function longVarint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) + 0x80);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

interface Reader {
  readonly bytes: Buffer;
  at: number;
}

function read(reader: Reader, wireType: number, field: Field | undefined): unknown {
  if (wireType === VARINT) {
    if (field?.kind === 'id') return readLong(reader).toString();
    const value = readInt(reader);
    return field?.kind === 'bool' ? value !== 0 : value;
  }
  if (wireType === LENGTH) {
    const length = readInt(reader);
    const body = reader.bytes.subarray(reader.at, reader.at + length);
    reader.at += length;
    const kind = field?.kind;
    if (typeof kind === 'object') return decode(kind, body);
    return kind === 'text' ? body.toString() : body;
  }
  if (wireType === FIXED64) reader.at += 8;
  else if (wireType === FIXED32) reader.at += 4;
  else throw new Error(`a message has a field of the unknown type ${wireType}`);
  return undefined;
}

/** Negative numbers take ten bytes. */
function readInt(reader: Reader): number {
  let value = 0;
  let scale = 1;
  const from = reader.at;
  for (;;) {
    const byte = reader.bytes[reader.at] ?? 0;
    reader.at += 1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) break;
    scale *= 0x80;
  }
  if (reader.at - from <= 7) return value;
  reader.at = from;
  return Number(BigInt.asIntN(64, readLong(reader)));
}

function readLong(reader: Reader): bigint {
  let value = 0n;
  let shift = 0n;
  for (;;) {
    const byte = reader.bytes[reader.at] ?? 0;
    reader.at += 1;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
    shift += 7n;
  }
}
