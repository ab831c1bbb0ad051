// The fields of a request that a person reads first. Pure.

import { sentenceCase } from './words.ts';

export type SummaryField = readonly [name: string, text: string];

const FIELDS_MAX = 6;
const TEXT_MAX = 80;

/** The plain values of an object, in its order. Lists count their items; nested objects are left out. */
export function summaryOf(request: unknown, max: number = FIELDS_MAX): readonly SummaryField[] {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) {
    return request === undefined || request === null ? [] : [['Request', textOf(request)]];
  }
  return Object.entries(request)
    .filter(([, value]) => value !== null && (typeof value !== 'object' || Array.isArray(value)))
    .slice(0, max)
    .map(([name, value]) => [sentenceCase(name), textOf(value)]);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return `${value.length} items`;
  const text = String(value);
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}
