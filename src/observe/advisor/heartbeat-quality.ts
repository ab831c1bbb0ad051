// The longest heartbeat that reaches a quality of detection, after Chen, Toueg and Aguilera: given a
// bound on the detection time, a least time between mistakes, a most length of a mistake, the share of
// heartbeats that get lost and the variance of their delay.

export interface Quality {
  readonly detectionMs: number;
  readonly betweenMistakesMs: number;
  readonly mistakeMs: number;
  readonly lossProbability: number;
  readonly delayVarianceMs2: number;
}

/** Zero when no heartbeat is frequent enough. */
export function longestHeartbeat(quality: Quality): number {
  const { detectionMs, mistakeMs, lossProbability, delayVarianceMs2, betweenMistakesMs } = quality;
  const gamma = ((1 - lossProbability) * detectionMs ** 2) / (delayVarianceMs2 + detectionMs ** 2);
  const most = Math.min(gamma * mistakeMs, detectionMs);
  // It is not monotonic at the places where one heartbeat less fits: walk down in small steps.
  const step = most / 2_000;
  for (let heartbeat = most; heartbeat > step; heartbeat -= step) {
    if (betweenMistakes(quality, heartbeat) >= betweenMistakesMs) return heartbeat;
  }
  return 0;
}

export function betweenMistakes(quality: Quality, heartbeatMs: number): number {
  const { detectionMs, lossProbability, delayVarianceMs2: variance } = quality;
  let product = heartbeatMs;
  const count = Math.ceil(detectionMs / heartbeatMs) - 1;
  for (let beat = 1; beat <= count; beat += 1) {
    const left = (detectionMs - beat * heartbeatMs) ** 2;
    product *= (variance + left) / (variance + lossProbability * left);
    if (product === Number.POSITIVE_INFINITY) break;
  }
  return product;
}
