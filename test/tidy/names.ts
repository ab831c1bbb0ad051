/** Names without information about the content. */
const BANNED: readonly string[] = [
  ...['utils', 'util', 'helpers', 'helper', 'common', 'lib', 'types', 'interfaces'],
  ...['manager', 'base', 'misc'],
];

/** Leftovers of editors, merges and patches. */
const LEFT_OVER = /(?:\.(?:orig|rej|bak|swp|tmp)|~)$/;

const KEBAB = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
/** Documents that tools and readers look for by exactly these names. */
const DOCUMENT = /^[A-Z]+(?:-[A-Z]+)*\.md$/;

/** Problems with file and folder names; folders count once however many files they hold. */
export function nameProblems(paths: readonly string[]): readonly string[] {
  const problems = paths.flatMap((path) => {
    const parts = path.split('/');
    return parts.flatMap((part, index) => {
      const place = parts.slice(0, index + 1).join('/');
      return problemWith(part).map((problem) => `${place}: ${problem}`);
    });
  });
  return [...new Set(problems)];
}

function problemWith(name: string): readonly string[] {
  if (LEFT_OVER.test(name)) return ['a left-over of a merge or an editor; delete it'];
  if (name.startsWith('.') || DOCUMENT.test(name)) {
    return [];
  }
  const words = name.split('.');
  const stem = words[0] ?? '';
  if (BANNED.includes(stem)) {
    return [`"${stem}" says nothing; name it after what is inside`];
  }
  return words.every((word) => KEBAB.test(word)) ? [] : ['names are kebab-case'];
}
