// A process that only wakes in time and writes a byte to the disk. It prints its greatest delay,
// which is the machine's own delay for every process.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

const EVERY_MS = 20;

const file = openSync(process.argv[2] ?? '', 'w');
let longestMs = 0;
let last = performance.now();

const beat = setInterval(() => {
  writeSync(file, '.', 0);
  fsyncSync(file);
  const now = performance.now();
  longestMs = Math.max(longestMs, now - last - EVERY_MS);
  last = now;
}, EVERY_MS);

process.on('message', () => {
  process.send?.(Math.ceil(longestMs));
  longestMs = 0;
});

process.on('disconnect', () => {
  clearInterval(beat);
  closeSync(file);
});
