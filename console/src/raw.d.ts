/** The text of a file, as Vite gives it. */
declare module '*?raw' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: that is how it is given
  export default text;
}
