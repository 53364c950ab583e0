// The guides: Markdown in edge/docs, made into pages that need no script.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Marked } from "marked";

const docs = join(dirname(fileURLToPath(import.meta.url)), "../docs");

/** The order of the navigation. */
const NAMES = ["start", "rankings", "paging", "stream", "flags", "prices", "units", "errors", "clients", "reference", "operating", "settings", "chains", "cluster", "trust"];

const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const idOf = (text) => text.toLowerCase().replace(/<[^>]*>|[^\w\s-]/g, "").trim().replace(/\s+/g, "-");

/** Comments and strings are told apart; more colour would only distract. */
function colour(text, language) {
  const comment = { sh: /(^|\s)#[^\n]*/.source, toml: /#[^\n]*/.source, go: /\/\/[^\n]*/.source, ts: /\/\/[^\n]*/.source }[language];
  const pattern = new RegExp(`(?<comment>${comment ?? "(?!)"})|(?<string>"(?:[^"\\\\\\n]|\\\\.)*")(?<key>\\s*:)?`, "g");
  let out = "", at = 0;
  for (const m of text.matchAll(pattern)) {
    const { comment: c, string: s, key } = m.groups;
    const kind = c !== undefined ? "c" : language === "json" && key ? "k" : "s";
    out += escape(text.slice(at, m.index)) + `<span class="${kind}">${escape(c ?? s)}</span>${key ?? ""}`;
    at = m.index + m[0].length;
  }
  return out + escape(text.slice(at));
}

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }) {
      const inner = this.parser.parseInline(tokens);
      return depth === 1 ? `<h1>${inner}</h1>\n` : `<h${depth} id="${idOf(text)}">${inner}<a class="anchor" href="#${idOf(text)}" aria-label="Link to this section">#</a></h${depth}>\n`;
    },
    code({ text, lang }) {
      const language = (lang ?? "").split(" ")[0];
      return `<div class="code" data-language="${language}"><pre tabindex="0"><code>${colour(text, language)}</code></pre></div>\n`;
    },
    table(token) {
      const row = (cells, tag) => `<tr>${cells.map((c) => `<${tag}${tag === "th" ? ' scope="col"' : ""}>${this.parser.parseInline(c.tokens)}</${tag}>`).join("")}</tr>`;
      return `<div class="scroll" tabindex="0"><table><thead>${row(token.header, "th")}</thead><tbody>${token.rows.map((r) => row(r, "td")).join("")}</tbody></table></div>\n`;
    },
  },
});

function read(name) {
  const text = readFileSync(join(docs, `${name}.md`), "utf8");
  const title = /^# (.+)$/m.exec(text)[1];
  const about = text.split("\n").find((line) => line && !line.startsWith("#")) ?? title;
  return { name, title, about: escape(about.replace(/[`*[\]]|\(.*?\)/g, "")), text };
}

const href = (name) => (name === "start" ? "/docs" : `/docs/${name}`);

export function docPages() {
  const all = NAMES.map(read);
  return all.map((page, i) => {
    const nav = all.map((p) => `<a href="${href(p.name)}"${p === page ? ' aria-current="page"' : ""}>${p.title}</a>`).join("\n");
    const beside = (p, rel) => (p ? `<a rel="${rel}" href="${href(p.name)}">${p.title}</a>` : "<span></span>");
    const turn = `<nav class="beside" aria-label="Next">${beside(all[i - 1], "prev")}${beside(all[i + 1], "next")}</nav>`;
    return { ...page, nav, html: marked.parse(page.text) + turn };
  });
}

/** What a language model is told: the gist, and where the rest is as text. */
export function llmsText() {
  const lines = NAMES.map(read).map((p) => `- [${p.title}](/docs/${p.name}.md): ${p.about}`);
  return `# Tidemark

> A read-only JSON API over concentrated-liquidity positions and pools: ranked, filtered, paged, exact to the wei. Requests under /v1/positions, /v1/pools, /v1/owners, /v1/tokens, /v1/stream and /v1/usage need the header KC-APIKey; all others are free. Unknown numbers are null, never 0. Page until pagination.hasMore is false. Retry a 429 or 503 after Retry-After; a 410 means to begin a pinned walk again; do not retry any other 4xx.

The whole interface: [/openapi.json](/openapi.json)

## Guides

${lines.join("\n")}
`;
}
