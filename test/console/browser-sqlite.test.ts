import { sample } from '../services/tier.ts';
import { ACT_CASES } from './browser/acts.ts';
import { PAGE_CASES } from './browser/pages.ts';
import { registerBrowser } from './browser/register.ts';

const acts = sample('acts in the console', ACT_CASES, 6);
registerBrowser('sqlite', [...PAGE_CASES, ...acts], async () => undefined);
