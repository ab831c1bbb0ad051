// The meaning of the braces in a formatted source, from the text before them.

const NOT_A_FUNCTION = /\b(?:if|for|while|switch|catch|with)\s*(?:await\s*)?$/;
/** Between a parameter list and the body: a return type, which may hold one level of braces. */
const RETURN_TYPE = /\):\s(?:[^;{}]|\{[^{}]*\})*$/;

/** Whether the brace at `open` begins the body of a function. */
export function opensFunction(code: string, open: number): boolean {
  const before = code.slice(0, open).trimEnd();
  if (before.endsWith('=>')) {
    return true;
  }
  if (before.endsWith(')')) {
    return !NOT_A_FUNCTION.test(before.slice(0, matchingParenthesis(before)));
  }
  const statement = before.slice(Math.max(0, before.length - 600));
  return RETURN_TYPE.test(statement) && !/\b(?:case|class)\b[^;{}]*$/.test(statement);
}

/** Whether the brace at `open` begins a branch, a loop or a guarded part; `else` adds no level. */
export function opensControlBlock(code: string, open: number): boolean {
  const before = code.slice(0, open).trimEnd();
  return before.endsWith(')')
    ? NOT_A_FUNCTION.test(before.slice(0, matchingParenthesis(before)))
    : /\b(?:try|do)$/.test(before);
}

function matchingParenthesis(text: string): number {
  let depth = 0;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    depth += text[at] === ')' ? 1 : text[at] === '(' ? -1 : 0;
    if (depth === 0) {
      return at;
    }
  }
  return 0;
}

/** Every pair of braces in a code view, inner pairs before the ones around them. */
export function bracePairs(code: string): readonly (readonly [open: number, close: number])[] {
  const pairs: [number, number][] = [];
  const open: number[] = [];
  for (const { index, 0: brace } of code.matchAll(/[{}]/g)) {
    if (brace === '{') {
      open.push(index);
    } else {
      pairs.push([open.pop() ?? 0, index]);
    }
  }
  return pairs;
}
