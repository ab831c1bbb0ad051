import { test } from 'node:test';
import { playFiveMinutes, SCRIPT } from './browser/five-minutes.ts';

test(`on SQLite: ${SCRIPT}`, () => playFiveMinutes('five-minutes', []));
