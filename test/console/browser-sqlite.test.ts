import { sample } from '../services/tier.ts';
import { OTHER_CASES } from './browser/cases.ts';
import { PAGE_CASES } from './browser/pages.ts';
import { registerBrowser } from './browser/register.ts';

const others = sample('console cases', OTHER_CASES, 10);
registerBrowser('sqlite', [...PAGE_CASES, ...others], async () => undefined);
