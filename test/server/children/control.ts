// Does nothing but be on time, and says how late it was at worst: what a machine makes its processes wait, whatever
// they do.

const EVERY_MS = 20;

let longestMs = 0;
let last = performance.now();

setInterval(() => {
  const now = performance.now();
  longestMs = Math.max(longestMs, now - last - EVERY_MS);
  last = now;
}, EVERY_MS);

process.on('message', () => {
  process.send?.(Math.ceil(longestMs));
  longestMs = 0;
});
