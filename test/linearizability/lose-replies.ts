import { setTimeout as pause } from 'node:timers/promises';
import type { TcpProxy } from '../services/proxy.ts';

const MUTE_MS = 60;

/** The server gets the requests and its replies get lost, until the connections break. */
export async function loseReplies(proxies: readonly TcpProxy[]): Promise<void> {
  for (const proxy of proxies) proxy.mute();
  await pause(MUTE_MS);
  for (const proxy of proxies) proxy.cut();
  for (const proxy of proxies) proxy.restore();
}
