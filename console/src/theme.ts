// Light, dark, or as the reader's system is.

const KEY = 'holdfast.theme';

export type Theme = 'system' | 'light' | 'dark';

export function chosenTheme(): Theme {
  const kept = window.localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function chooseTheme(theme: Theme): void {
  window.localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosenTheme();
}
