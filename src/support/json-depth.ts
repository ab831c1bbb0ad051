// How deep JSON is nested, found without reading it: what reads and writes it recurses.

/** So many arrays and objects are in one another. Of anything but JSON it may say so as well. */
export function isDeeperThan(text: string, max: number): boolean {
  // What is open is closed again.
  if (text.length <= 2 * max) return false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (sign === '"') at = endOfText(text, at);
    else if (sign === '[' || sign === '{') depth += 1;
    else if (sign === ']' || sign === '}') depth -= 1;
    if (depth > max) return true;
  }
  return false;
}

/** Where the text that begins here ends: at a quote before which there is an even number of backslashes. */
function endOfText(json: string, begin: number): number {
  for (let at = begin; ; ) {
    at = json.indexOf('"', at + 1);
    if (at < 0) return json.length;
    let before = at - 1;
    while (json[before] === '\\') before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
}
