import { isStartedByNpm, npmParentEnded } from './npm-parent.ts';
import { backgroundTimers } from './timer.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Resolves with the reason when this process is asked to stop: by SIGTERM, by SIGINT, or because the npm that started
 * it has ended. A second signal ends the process as if nothing had listened. Waiting for it keeps no process alive.
 *
 * @param over Stops listening when it aborts.
 *
 * @example
 * const worker = await openWorker({ url, pipelines });
 * void stopAsked().then(() => worker.stop());
 */
export function stopAsked(over?: AbortSignal): Promise<string> {
  const found = new AbortController();
  const ends = AbortSignal.any([found.signal, ...(over === undefined ? [] : [over])]);
  return new Promise((resolve) => {
    const stop = (reason: string) => {
      found.abort();
      resolve(reason);
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    ends.addEventListener('abort', () => {
      for (const signal of SIGNALS) process.off(signal, stop);
    });
    const isByNpm = isStartedByNpm();
    void npmParentEnded({ isByNpm, timers: backgroundTimers, over: ends }).then(() => {
      stop('the npm that started it has ended');
    });
  });
}
