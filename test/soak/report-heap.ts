// Loaded into each process of a soak. It collects garbage on request, and sends how much is left.

process.on('message', () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.(heapUsed + external);
});
// The channel must not keep a process alive that has nothing else to do.
process.channel?.unref();
