// Builds the pages into dist, which is committed and embedded: building the
// binary needs no Node. The same sources give the same bytes.
//
//   node build.mjs            write dist
//   node build.mjs --check    compare dist with what the sources give
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, mkdirSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { docPages, llmsText } from "./docs.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const BANNER = "/* Tidemark, Apache-2.0. With preact and uPlot, both MIT: see /assets/licenses.txt */";
const OPTIONS = {
  absWorkingDir: here, bundle: true, minify: true, metafile: true, target: "es2022",
  entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]", legalComments: "none",
  banner: { js: BANNER, css: BANNER }, jsx: "automatic", jsxImportSource: "preact", logLevel: "warning",
};

async function bundle(out) {
  const assets = join(out, "assets");
  const results = await Promise.all([
    build({ ...OPTIONS, entryPoints: ["src/app.tsx", "src/front.tsx", "src/docs.ts", "src/reference.tsx"], splitting: true, format: "esm", outdir: assets }),
    build({ ...OPTIONS, entryPoints: ["src/theme.ts"], format: "iife", outdir: assets }),
    build({ ...OPTIONS, entryPoints: ["src/app.css", "src/front.css", "src/docs.css"], outdir: assets }),
  ]);

  // Where each source went, and what it needs at once.
  const files = {};
  for (const { metafile } of results) {
    for (const [path, about] of Object.entries(metafile.outputs)) {
      if (!about.entryPoint) continue;
      const url = (p) => `/assets/${relative(assets, join(here, p))}`;
      const needs = about.imports.filter((i) => i.kind === "import-statement").map((i) => url(i.path));
      files[about.entryPoint.replace("src/", "")] = { url: url(path), needs };
    }
  }
  return files;
}

/** The head of every page, with what it loads. */
function head(files, { title, about, script, style }) {
  const preload = script ? files[script].needs.map((url) => `<link rel="modulepreload" href="${url}">`).join("") : "";
  return `<meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<meta name="description" content="${about}"><link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${files[style].url}"><script src="${files["theme.ts"].url}"></script>
${preload}${script ? `<script type="module" src="${files[script].url}"></script>` : ""}`;
}

function write(out, path, text) {
  mkdirSync(dirname(join(out, path)), { recursive: true });
  writeFileSync(join(out, path), text);
}

/** The licences of what is bundled, as their authors ask for. */
function licences() {
  return ["preact", "uplot"].map((name) => {
    const { version } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}\n`;
  }).join("\n\n");
}

async function make(out) {
  const files = await bundle(out);
  const page = (name) => readFileSync(join(here, "src", name), "utf8");

  write(out, "index.html", page("front.html").replace("<!--head-->", head(files, {
    title: "Tidemark", about: "Ranked, filtered, paginated data on concentrated-liquidity positions and pools.",
    script: "front.tsx", style: "front.css",
  })));
  write(out, "ui.html", page("app.html").replace("<!--head-->", head(files, {
    title: "Tidemark", about: "Rankings of positions and pools, as they change.", script: "app.tsx", style: "app.css",
  })));
  for (const doc of docPages()) {
    const script = doc.name === "reference" ? "reference.tsx" : "docs.ts";
    write(out, `docs/${doc.name}.html`, page("docs.html")
      .replace("<!--head-->", head(files, { title: `${doc.title} · Tidemark`, about: doc.about, script, style: "docs.css" }))
      .replace("<!--nav-->", doc.nav).replace("<!--body-->", () => doc.html));
  }
  write(out, "llms.txt", llmsText());
  write(out, "favicon.svg", page("favicon.svg"));
  write(out, "assets/licenses.txt", licences());
}

const listing = (dir) => readdirSync(dir, { recursive: true, withFileTypes: true })
  .filter((e) => e.isFile()).map((e) => relative(dir, join(e.parentPath, e.name))).sort();

const dist = join(here, "dist");
if (process.argv[2] === "--check") {
  const fresh = mkdtempSync(join(tmpdir(), "tidemark-ui-"));
  try {
    await make(fresh);
    const [committed, built] = [listing(dist), listing(fresh)];
    const wrong = [...new Set([...committed, ...built])].filter((f) =>
      !existsSync(join(dist, f)) || !existsSync(join(fresh, f)) || !readFileSync(join(dist, f)).equals(readFileSync(join(fresh, f))));
    if (wrong.length > 0) {
      console.error(`dist is not what the sources give; run make ui:\n  ${wrong.join("\n  ")}`);
      process.exit(1);
    }
    console.log(`dist is what the sources give: ${built.length} files`);
  } finally {
    rmSync(fresh, { recursive: true });
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  await make(dist);
}
