import { ACT_CASES } from './browser/acts.ts';
import { PAGE_CASES } from './browser/pages.ts';
import { registerBrowser } from './browser/register.ts';

registerBrowser('sqlite', [...PAGE_CASES, ...ACT_CASES], async () => undefined);
