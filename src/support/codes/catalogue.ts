// All stable codes, by subject. The order is that of the error reference.

import type { CodeEntry } from './entry.ts';
import { EXECUTION_CODES, QUESTION_CODES, RELEASE_CODES } from './execution-codes.ts';
import { COMMAND_CODES, EXPORT_CODES, STORE_CODES, VALUE_CODES } from './fault-codes.ts';
import { LEASE_CODES, SESSION_CODES } from './lease-codes.ts';
import { ACCESS_CODES, GUARD_CODES, REQUEST_CODES } from './request-codes.ts';
import { ENGINE_CODES, FAILURE_CODES, PROTOCOL_CODES } from './worker-codes.ts';

export const CODE_GROUPS = {
  Requests: REQUEST_CODES,
  'Access keys and projects': ACCESS_CODES,
  Executions: EXECUTION_CODES,
  'Questions and answers': QUESTION_CODES,
  Releases: RELEASE_CODES,
  'Failures in pipelines': FAILURE_CODES,
  'Workers and maintenance': ENGINE_CODES,
  'Worker protocol and transports': PROTOCOL_CODES,
  Sessions: SESSION_CODES,
  Leases: LEASE_CODES,
  'Guarded resources': GUARD_CODES,
  Stores: STORE_CODES,
  'Values, codecs and archives': VALUE_CODES,
  'Export and import': EXPORT_CODES,
  'Command line': COMMAND_CODES,
} as const;

type Groups = typeof CODE_GROUPS;

/** A stable code. Programs match on it; people look it up in the error reference. */
export type Code = { [Name in keyof Groups]: keyof Groups[Name] }[keyof Groups];

const ENTRIES: Readonly<Record<Code, CodeEntry>> = Object.assign({}, ...Object.values(CODE_GROUPS));

export function entryOf(code: Code): CodeEntry {
  return ENTRIES[code];
}

/** 500 for codes that a coordinator does not send. */
export function statusOf(code: Code): number {
  return entryOf(code).status ?? 500;
}

/** False for codes of the caller's own errors, and for codes of a newer coordinator. */
export function isCode(code: string): code is Code {
  return Object.hasOwn(ENTRIES, code);
}
