// Builds into the Python package. Names are fixed, so that a build changes the files that it must and no others.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [svelte()],
  base: '/',
  build: {
    outDir: '../src/nilometer/server/pages',
    emptyOutDir: true,
    assetsInlineLimit: 0, // the page's policy allows no data: fonts
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rollupOptions: {
      output: {
        entryFileNames: 'assets/dashboard.js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: (asset) => (asset.names?.[0]?.endsWith('.css') ? 'assets/dashboard.css' : 'assets/[name][extname]'),
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:7654' } },
});
