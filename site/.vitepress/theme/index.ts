// The default theme without its web fonts: the fonts of the system take no space.

import Theme from 'vitepress/theme-without-fonts';
import './style.css';

// biome-ignore lint/style/noDefaultExport: VitePress loads the theme by its default export
export default Theme;
