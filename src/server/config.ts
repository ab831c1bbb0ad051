// Reads the configuration of a coordinator: a file, then the environment, then flags; later sources
// win. One schema defines the names and values of all three.

import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { CLIENT_VARIABLES } from '../support/environment.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  kindWithoutValue,
  placeWithoutSecrets,
  shownPath,
  shownUrl,
} from '../support/hidden-options.ts';
import { nearestName, shown, wordsIn } from '../support/options.ts';
import { configSchema } from './config-schema.ts';

export type Config = Static<typeof configSchema>;

export interface SettingName {
  /** The name in the file: `limits.openMax`. */
  readonly name: string;
  /** Such as HOLDFAST_LIMITS_OPEN_MAX. */
  readonly variable: string;
  /** Such as limits-open-max. */
  readonly flag: string;
  /** The placeholder of its value: `ms`, `path`, `keys|off`. */
  readonly value: string;
  /** The description with its default. */
  readonly help: string;
  readonly description: string;
  readonly schema: TSchema;
}

const UNITS: readonly (readonly [ending: RegExp, placeholder: string])[] = [
  [/Ms$/, 'ms'],
  [/Days$/, 'days'],
  [/[bB]ytes/, 'bytes'],
  [/^store$/, 'url|path'],
  [/(File|folder)$/, 'path'],
  [/([uU]rl|endpoint)$/, 'url'],
];

export const SETTINGS: readonly SettingName[] = leavesOf(configSchema, []);

function leavesOf(schema: TSchema, path: readonly string[]): readonly SettingName[] {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, TSchema>> };
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, each]) => leavesOf(each, [...path, name]));
  }
  const words = path.flatMap((part) => part.split(/(?=[A-Z])/)).map((word) => word.toLowerCase());
  const { description = '' } = schema as { readonly description?: string };
  return [
    {
      name: path.join('.'),
      variable: `HOLDFAST_${words.join('_').toUpperCase()}`,
      flag: words.join('-'),
      value: placeholderOf(path.at(-1) ?? '', schema),
      help: withDefault(description, schema),
      description,
      schema,
    },
  ];
}

function placeholderOf(name: string, schema: TSchema): string {
  const {
    type,
    enum: choices,
    ...rest
  } = schema as { readonly type?: string; readonly enum?: string[]; readonly placeholder?: string };
  if (rest.placeholder !== undefined) return rest.placeholder;
  if (choices !== undefined) return choices.join('|');
  if (type === 'boolean') return 'true|false';
  if (type === 'array') return 'a,b';
  return UNITS.find(([ending]) => ending.test(name))?.[1] ?? (type === 'integer' ? 'n' : 'text');
}

/** Appends the schema's default, so that no description can contradict it. */
function withDefault(description: string, schema: TSchema): string {
  const { default: usual } = schema as { readonly default?: unknown };
  return usual === undefined ? description : `${description} (default ${String(usual)})`;
}

/** The origin of a value, for messages to people. */
export interface Source {
  readonly place: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface Setting {
  readonly name: string;
  readonly value: unknown;
  readonly from: string;
}

export interface Configured {
  readonly config: Config;
  readonly settings: readonly Setting[];
}

/** Later sources win. Checks every value, even an overridden one. */
export function configFrom(sources: readonly Source[]): Configured {
  const settings = SETTINGS.flatMap(({ name, schema }): readonly Setting[] => {
    const given = sources.findLast(({ values }) => Object.hasOwn(values, name));
    if (given !== undefined) return [{ name, value: given.values[name], from: given.place }];
    const { default: value } = schema as { readonly default?: unknown };
    return value === undefined ? [] : [{ name, value, from: 'default' }];
  });
  const groups = wordsIn('links channels limits tls postgres sqs push archive retention log');
  const config: Record<string, unknown> = Object.fromEntries(groups.map((name) => [name, {}]));
  for (const { name, value } of settings) {
    const [first = '', second] = name.split('.');
    if (second === undefined) config[first] = value;
    else config[first] = { ...(config[first] as object), [second]: value };
  }
  if (!Value.Check(configSchema, config))
    throw new InvalidInput('The configuration is incomplete.');
  return { config, settings };
}

/** Takes parsed JSON. */
export function fileSource(place: string, content: unknown): Source {
  const values: Record<string, unknown> = {};
  collect(place, { content, path: [], into: values });
  return { place, values };
}

interface Collecting {
  readonly content: unknown;
  readonly path: readonly string[];
  readonly into: Record<string, unknown>;
}

function collect(place: string, { content, path, into }: Collecting): void {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    const what = path.length === 0 ? 'The configuration' : path.join('.');
    const isShort = typeof content === 'number' || typeof content === 'boolean';
    // Do not show the value, because it may contain secrets.
    throw new InvalidInput(
      `${place}: ${what} must be an object; got ${isShort ? shown(content) : `${kindWithoutValue(content)}, which is hidden`}.`,
    );
  }
  for (const [key, value] of Object.entries(content)) {
    const name = [...path, key].join('.');
    // Allowed, so that editors can check the file.
    if (name === '$schema') continue;
    const setting = SETTINGS.find((each) => each.name === name);
    if (setting !== undefined) into[name] = checked(`${place}: ${name}`, setting, value);
    else if (SETTINGS.some((each) => each.name.startsWith(`${name}.`))) {
      collect(place, { content: value, path: [...path, key], into });
    } else throw unknownName(place, name, namesAt(path));
  }
}

/** The names at this level; a group counts as one. */
function namesAt(path: readonly string[]): readonly string[] {
  const prefix = path.length === 0 ? '' : `${path.join('.')}.`;
  const beside = SETTINGS.filter(({ name }) => name.startsWith(prefix)).map(
    ({ name }) => `${prefix}${name.slice(prefix.length).split('.')[0]}`,
  );
  return [...new Set(beside)];
}

/** One source per variable, so that messages can name it. */
export function environmentSources(variables: Readonly<Record<string, string>>): readonly Source[] {
  return Object.entries(variables).flatMap(([variable, text]): readonly Source[] => {
    if (CLIENT_VARIABLES.includes(variable)) return [];
    refuseServiceLinks(variable, text);
    const setting = SETTINGS.find((each) => each.variable === variable);
    if (setting === undefined) {
      const known = [...SETTINGS.map((each) => each.variable), ...CLIENT_VARIABLES];
      throw unknownName('The environment', variable, known);
    }
    return [{ place: variable, values: { [setting.name]: fromText(variable, setting, text) } }];
  });
}

/** Kubernetes announces neighbouring services in variables whose names may equal ours. */
function refuseServiceLinks(variable: string, text: string): void {
  const isLink = /^HOLDFAST_(SERVICE_(HOST|PORT)|PORT_\d+_)/.test(variable) || /^tcp:/.test(text);
  if (!isLink) return;
  throw new InvalidInput(
    `${variable} was set by Kubernetes for a Service named "holdfast", and looks like a setting. Set enableServiceLinks: false in the pod, or rename the Service.`,
  );
}

/** Takes the names of flags, without dashes. */
export function flagSources(flags: Readonly<Record<string, string>>): readonly Source[] {
  return Object.entries(flags).flatMap(([flag, text]): readonly Source[] => {
    const setting = SETTINGS.find((each) => each.flag === flag);
    if (setting === undefined) return [];
    const place = `--${flag}`;
    return [{ place, values: { [setting.name]: fromText(place, setting, text) } }];
  });
}

function fromText(place: string, setting: SettingName, text: string): unknown {
  const kinds = kindsOf(setting.schema);
  if (kinds.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true';
  if (kinds.includes('integer') && /^\d{1,15}$/.test(text)) {
    return checked(place, setting, Number(text));
  }
  if (kinds.includes('array')) return checked(place, setting, listFrom(place, text));
  return checked(place, setting, text);
}

/** Words separated by commas, or JSON. */
function listFrom(place: string, text: string): unknown {
  if (!text.startsWith('[')) return text.split(',').map((each) => each.trim());
  try {
    return JSON.parse(text);
  } catch {
    // Do not show the parser's message: it quotes the text, which may be a URL with a key.
    throw new InvalidInput(
      `${place} is not valid JSON. Pass words separated by commas, or a JSON list.`,
    );
  }
}

function kindsOf(schema: TSchema): readonly string[] {
  const { type, anyOf = [] } = schema as { type?: string; anyOf?: readonly TSchema[] };
  return type === undefined ? anyOf.flatMap(kindsOf) : [type];
}

function checked(place: string, { schema, name }: SettingName, value: unknown): unknown {
  if (Value.Check(schema, value)) return value;
  throw new InvalidInput(`${place} must be ${wanted(schema)}; got ${shown(hidden(name, value))}.`);
}

function wanted(schema: TSchema): string {
  const { description, minimum, maximum, ...rest } = schema as {
    readonly description?: string;
    readonly minimum?: number;
    readonly maximum?: number;
    readonly enum?: readonly string[];
  };
  if (rest.enum !== undefined) return rest.enum.map((each) => JSON.stringify(each)).join(' or ');
  if (minimum !== undefined) return `a whole number between ${minimum} and ${maximum}`;
  const kinds = kindsOf(schema);
  const kind = kinds.includes('boolean')
    ? 'true or false'
    : kinds.includes('array')
      ? 'a list'
      : 'text';
  return description === undefined ? kind : `${kind} (${description})`;
}

function unknownName(place: string, name: string, known: readonly string[]): InvalidInput {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `Known: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
  return new InvalidInput(`${place}: there is no setting "${name}". ${hint}`);
}

/** Secrets: never print these values. */
const SECRETS: ReadonlySet<string> = new Set([
  ...['archive.accessKeyId', 'archive.secretAccessKey', 'archive.sessionToken'],
]);
const STORES: ReadonlySet<string> = new Set(['store', 'postgres.directUrl']);
/** If a user puts a secret here instead of a path, it is not shown. */
const FILES: ReadonlySet<string> = new Set([
  ...['sqs.keysFile', 'push.signingFile', 'links.signingFile', 'channels.signingFile'],
  ...['tls.keyFile', 'tls.certFile'],
]);
const URLS: ReadonlySet<string> = new Set(
  wordsIn('archive.url sqs.requestQueueUrl sqs.poisonQueueUrl sqs.replyQueues sqs.endpoint'),
);

/** The printable form: without the password of a URL and the query of an endpoint's URL. */
export function hidden(name: string, value: unknown): unknown {
  if (SECRETS.has(name)) return '…';
  if (name === 'push.endpoints') return Array.isArray(value) ? value.map(shownEndpoint) : '…';
  if (FILES.has(name)) return typeof value === 'string' ? shownPath(value) : '…';
  if (URLS.has(name)) return Array.isArray(value) ? value.map(urlOrNothing) : urlOrNothing(value);
  return STORES.has(name) && typeof value === 'string' ? placeWithoutSecrets(value) : value;
}

function urlOrNothing(value: unknown): string {
  const isUrl = typeof value === 'string' && URL.canParse(value) && /^https?:/i.test(value);
  return isUrl ? shownUrl(new URL(value)) : '…';
}

/** An endpoint's keys belong in a file. Reports keys found here without showing them. */
function shownEndpoint(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return '…';
  const parts = Object.entries(value).map(([name, part]): readonly [string, unknown] => {
    if (name === 'url') return [name, urlOrNothing(part)];
    if (name === 'signingFile') return [name, hidden('push.signingFile', part)];
    return PLAIN.has(name) && isPlain(part) ? [name, part] : ['…', '…'];
  });
  return Object.fromEntries(parts);
}

const PLAIN: ReadonlySet<string> = new Set(['pipelines', 'project', 'capacity', 'timeoutMs']);

function isPlain(part: unknown): boolean {
  if (Array.isArray(part)) return part.every((each) => typeof each === 'string');
  return typeof part === 'string' || typeof part === 'number';
}
