// What is shown, as a request: a visitor becomes a caller.
import { useState } from "preact/hooks";
import { copyFrom } from "./copy.js";
import { Store, useStore } from "./store.js";

export interface Shown {
  /** The path of the API, as in /v1/pools. */
  path: string;
  query: Record<string, string | number>;
  /** The method of the clients, and its arguments before the query. */
  method: string;
  args: (string | number)[];
}

export const opened = new Store(false);

const numbers = new Set(["chainId", "page", "limit", "fee", "minValueUsd", "minPoolTvl", "minTvlUsd"]);
const goNames: Record<string, string> = { chainId: "ChainID", poolId: "PoolID", positionId: "PositionID", minPoolTvl: "MinPoolTVL", minTvlUsd: "MinTVLUsd" };

const goName = (name: string) => goNames[name] ?? name[0]!.toUpperCase() + name.slice(1);

/** A path within the quotes of a shell: an address may have anything in it. */
const quoted = (path: string) => path.replace(/["$`\\!]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);

const isList = (s: Shown) => s.method === "positions" || s.method === "pools";

const LANGUAGES = {
  curl: (s: Shown) => {
    const query = new URLSearchParams(Object.entries(s.query).map(([k, v]) => [k, String(v)])).toString();
    return `curl -H "KC-APIKey: $KEY" \\\n  "${location.origin}${quoted(s.path)}${query ? `?${query}` : ""}"`;
  },
  TypeScript: (s: Shown) => {
    const fields = Object.entries(s.query).map(([k, v]) => `${k}: ${numbers.has(k) || v === "true" ? v : JSON.stringify(v)}`);
    const list = isList(s);
    const args = [...s.args.map((a) => JSON.stringify(a)), ...(fields.length ? [list ? `{ ${fields.join(", ")} }` : JSON.stringify(s.query.range)] : [])];
    return `import { Tidemark } from "tidemark-client";\n\n` +
      `const api = new Tidemark({ url: "${location.origin}", key: process.env.KEY });\n` +
      `const answer = await api.${s.method}(${args.join(", ")});`;
  },
  Go: (s: Shown) => {
    const kind = `tidemark.${goName(s.method)}Query`;
    const field = ([k, v]: [string, string | number]) =>
      `${goName(k)}: ${k.startsWith("min") ? `tidemark.USD(${v})` : k === "fee" ? `tidemark.Pips(${v})` : numbers.has(k) || v === "true" ? v : JSON.stringify(v)}`;
    const list = isList(s);
    const query = list ? `${kind}{${Object.entries(s.query).map(field).join(", ")}}` : s.query.range ? JSON.stringify(s.query.range) : "";
    const args = ["ctx", ...s.args.map((a) => JSON.stringify(a)), ...(query ? [query] : [])];
    return `api := tidemark.New("${location.origin}", os.Getenv("KEY"))\n` +
      `answer, err := api.${goName(s.method)}(${args.join(", ")})`;
  },
};

type Language = keyof typeof LANGUAGES;

export function RequestButton() {
  const open = useStore(opened);
  return <button type="button" class="plain" aria-expanded={open} aria-controls="request" onClick={() => opened.set(!open)}>As a request</button>;
}

export function AsRequest({ shown }: { shown: Shown }) {
  const open = useStore(opened);
  const [language, choose] = useState<Language>("curl");
  if (!open) return null;
  const code = LANGUAGES[language](shown);
  return (
    <section id="request" class="request" aria-label="As a request">
      <div class="tabs" role="group" aria-label="Language">
        {(Object.keys(LANGUAGES) as Language[]).map((name) => (
          <button key={name} type="button" aria-pressed={name === language} onClick={() => choose(name)}>{name}</button>
        ))}
        <button type="button" class="copy" onClick={(e) => void copyFrom(e.currentTarget, code)}>Copy</button>
      </div>
      <pre tabIndex={0}><code>{code}</code></pre>
    </section>
  );
}
