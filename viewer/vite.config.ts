import { resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** The bare tags that src/pellucid/report/page.py hashes for the policy. */
function bareTags(): Plugin {
  return {
    name: "bare-tags",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
          file.source = String(file.source)
            .replace(/<script type="module" crossorigin>/, () => '<script type="module">')
            .replace(/<style rel="stylesheet" crossorigin>/, () => "<style>");
        }
      },
    },
  };
}

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), bareTags()],
  build: {
    outDir: process.env["VIEWER_OUT"] ?? resolve(import.meta.dirname, "../src/pellucid/report"),
    emptyOutDir: false,
    target: "es2023",
    rollupOptions: { input: resolve(import.meta.dirname, "viewer.html") },
  },
});
