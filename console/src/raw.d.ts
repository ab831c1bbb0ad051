/** Vite imports a file with `?raw` as its text. */
declare module '*?raw' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: Vite exports the text as default
  export default text;
}
