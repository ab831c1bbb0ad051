// Chooses what to load: an answer link needs a small part of the code, and opens on telephones.

import './look/tokens.css';
import './look/parts.css';
import { applyTheme } from './theme.ts';

applyTheme();

const root = document.getElementById('root');
if (root === null) throw new Error('Root element #root is missing.');

const link = /^\/console\/answer\/(.+)$/.exec(window.location.pathname)?.[1];
if (link === undefined) {
  const { showConsole } = await import('./console.tsx');
  await showConsole(root);
} else {
  const { showAnswer } = await import('./answer.ts');
  await showAnswer(root, decodeURIComponent(link));
}
