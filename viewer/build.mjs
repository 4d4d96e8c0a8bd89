// Builds the page into rtl_agent/view/static (or into the folder named on the command line). The same source gives the same bytes.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../rtl_agent/view/static"));
await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  // A classic script: browsers refuse module scripts of a page that was opened from disk.
  format: "iife",
  target: "es2022",
  charset: "ascii",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  logLevel: "info",
});
await copyFile(join(here, "src/index.html"), join(out, "index.html"));
