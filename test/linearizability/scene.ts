/** Settings that every client of a recorded history shares. */
export const KEYS: readonly string[] = ['red', 'green', 'blue'];
export const TTL_MS = 700;
export const GRACE_MS = 100;
/** The model has neither flap damping nor the breaker. */
export const POLICY = { flapUnitMs: 0, breakerSharePercent: 100, recoveryGraceMs: 0 } as const;
