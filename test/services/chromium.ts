import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { chromiumEnvironment, findChromium } from './chromium-binary.ts';

/** It never calls home, and runs as root too, as in containers. */
const FLAGS: readonly string[] = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  // /dev/shm in a container is too small for a page.
  '--disable-dev-shm-usage',
];

export interface PrivateChromium {
  readonly context: BrowserContext;
  stop(): Promise<void>;
}

/** A browser with its own profile, which is removed with it. */
export async function startChromium(): Promise<PrivateChromium> {
  const binary = await findChromium();
  const profile = await mkdtemp(join(tmpdir(), 'holdfast-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: binary.program,
    args: [...FLAGS],
    headless: true,
    env: chromiumEnvironment(binary) as Record<string, string>,
    viewport: { width: 1_280, height: 860 },
  });
  return {
    context,
    async stop() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
