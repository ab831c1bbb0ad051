/** Code may leave a promise of ours behind; that it fails then must not stop the process. */
export function guarded<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(ignored);
  return promise;
}

export function ignored(): void {
  // Whoever awaits it is told.
}
