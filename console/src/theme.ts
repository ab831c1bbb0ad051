// The theme: light, dark, or the setting of the operating system.

const KEY = 'holdfast.theme';

export type Theme = 'system' | 'light' | 'dark';

export function chosenTheme(): Theme {
  const saved = window.localStorage.getItem(KEY);
  return saved === 'light' || saved === 'dark' ? saved : 'system';
}

export function chooseTheme(theme: Theme): void {
  window.localStorage.setItem(KEY, theme);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosenTheme();
}
