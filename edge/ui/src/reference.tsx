// The reference: every route of the OpenAPI document, with a form to try it.
import { render } from "preact";
import { useMemo, useState } from "preact/hooks";
import "./docs.js";
import { beginningOf } from "./beginning.js";
import { copyFrom } from "./copy.js";
import { Store, useStore } from "./store.js";
import { client, key, keyOf, meta } from "./node.js";
import { Failure } from "./states.js";
import { TidemarkError } from "../../client/ts/src/index.js";

interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  format?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}

interface Parameter {
  name: string;
  in: "query" | "path" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Answer {
  $ref?: string;
  description?: string;
  content?: Record<string, { schema?: Schema; example?: unknown }>;
}

interface Operation {
  operationId: string;
  tags: string[];
  summary?: string;
  description?: string;
  security?: unknown[];
  parameters?: Parameter[];
  responses: Record<string, Answer>;
}

interface Document {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, { get: Operation }>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Answer> };
}

const loaded = new Store<Document | null>(null);
const failure = new Store<Error | null>(null);

const last = (ref: string) => ref.slice(ref.lastIndexOf("/") + 1);
const schemaOf = (s: Schema): Schema => (s.$ref ? { ...loaded.value!.components.schemas[last(s.$ref)], ...(s.description && { description: s.description }) } : s);
const answerOf = (a: Answer): Answer => (a.$ref ? loaded.value!.components.responses[last(a.$ref)]! : a);

function Reference() {
  const doc = useStore(loaded);
  const failed = useStore(failure);
  if (!doc && failed) return <Failure error={failed} retry={() => void load()} />;
  if (!doc) return <div class="reference" aria-busy="true" />;
  const groups = doc.tags.map(({ name }) => ({ name, routes: Object.entries(doc.paths).filter(([, { get }]) => get.tags[0] === name) }));
  return (
    <div class="reference">
      <KeyField />
      <nav class="routes" aria-label="Routes">
        {groups.map(({ name, routes }) => (
          <section key={name}>
            <h2>{name}</h2>
            {routes.map(([path, { get }]) => <a key={path} href={`#${get.operationId}`}><code>{path}</code></a>)}
          </section>
        ))}
      </nav>
      {groups.flatMap(({ routes }) => routes.map(([path, { get }]) => <Route key={path} path={path} of={get} />))}
    </div>
  );
}

/** The visitor's key, used by every form of the page. */
function KeyField() {
  const using = useStore(key);
  return (
    <label class="key-field">
      <span>Your key, for trying</span>
      <input type="password" autocomplete="off" spellcheck={false} placeholder="tm_srv_…" value={using ?? ""} onInput={(e) => key.set(keyOf(e.currentTarget.value) || null)} />
      <span class="quiet">Kept in this tab, sent to this node only.</span>
    </label>
  );
}

function Route({ path, of: op }: { path: string; of: Operation }) {
  const parameters = op.parameters ?? [];
  const [given, setGiven] = useState<Record<string, string>>({});
  const ok = answerOf(op.responses["200"]!).content?.[JSON_TYPE];
  const set = (name: string, value: string) => setGiven((was) => ({ ...was, [name]: value }));
  return (
    <section id={op.operationId} class="route">
      <div class="about">
        <h2><span class="method">GET</span> <code>{path}</code><a class="anchor" href={`#${op.operationId}`} aria-label="Link to this route">#</a></h2>
        <p>{op.summary}</p>
        {op.description && <p>{op.description}</p>}
        {parameters.length > 0 && <Parameters all={parameters} given={given} set={set} />}
        <h3>Answers</h3>
        <ul class="answers">
          {Object.entries(op.responses).map(([code, a]) => <li key={code}><code>{code}</code> {answerOf(a).description}</li>)}
        </ul>
        {ok?.schema && <details><summary>Fields of the answer</summary><Fields of={ok.schema} depth={0} /></details>}
      </div>
      <Try path={path} op={op} given={given} />
    </section>
  );
}

function Parameters({ all, given, set }: { all: Parameter[]; given: Record<string, string>; set: (name: string, value: string) => void }) {
  return (
    <>
      <h3>Parameters</h3>
      <dl class="parameters">
        {all.map((p) => {
          const s = schemaOf(p.schema);
          return (
            <div key={p.name}>
              <dt><code>{p.name}</code> <span class="type">{typeOf(p.schema)}{p.in === "query" ? "" : p.in === "path" ? ", in the path" : ", a header"}{p.in === "query" && p.required ? ", required" : ""}</span></dt>
              <dd>
                {p.description} {limits(s)}
                <Input parameter={p} schema={s} value={given[p.name] ?? ""} onInput={(v) => set(p.name, v)} />
              </dd>
            </div>
          );
        })}
      </dl>
    </>
  );
}

function Input({ parameter: p, schema: s, value, onInput }: { parameter: Parameter; schema: Schema; value: string; onInput: (value: string) => void }) {
  const base = s.default === undefined ? "" : String(s.default);
  const words = s.enum ?? (s.type === "boolean" ? ["true", "false"] : null);
  return words ? (
    <select aria-label={p.name} value={value} onChange={(e) => onInput(e.currentTarget.value)}>
      <option value="">{base ? `default: ${base}` : "—"}</option>
      {words.filter((w) => w !== null).map((w) => <option key={String(w)} value={String(w)}>{String(w)}</option>)}
    </select>
  ) : (
    <input aria-label={p.name} type="text" spellcheck={false} autocomplete="off" value={value} placeholder={base} onInput={(e) => onInput(e.currentTarget.value)} />
  );
}

function typeOf(s: Schema): string {
  if (s.$ref) return last(s.$ref);
  const either = s.anyOf ?? s.oneOf;
  if (either) return either.map(typeOf).join(" or ");
  if (s.items) return `list of ${typeOf(s.items)}`;
  const types = [s.type ?? "any"].flat();
  return types.map((t) => (t === "string" && s.format === "date-time" ? "time" : t)).join(" or ");
}

function limits(s: Schema) {
  const words = s.enum?.filter((w) => w !== null).map(String);
  if (words && words.length > 1) return <span class="words">One of {words.map((w, i) => <span key={w}>{i > 0 && ", "}<code>{w}</code></span>)}.</span>;
  if (s.minimum !== undefined && s.maximum !== undefined && s.maximum <= Number.MAX_SAFE_INTEGER) return <span>From {s.minimum} to {s.maximum}.</span>;
  return null;
}

const DEEPEST = 4; // the document nests no deeper than this in what an answer holds

function Fields({ of, depth }: { of: Schema; depth: number }) {
  let s = schemaOf(of);
  const inner = (s.anyOf ?? s.oneOf)?.find((x) => x.type !== "null");
  if (inner) s = schemaOf(inner);
  while (s.items) s = schemaOf(s.items);
  if (!s.properties || depth > DEEPEST) return null;
  return (
    <dl class="fields">
      {Object.entries(s.properties).map(([name, field]) => {
        const full = schemaOf(field);
        const nested = nestedOf(field);
        return (
          <div key={name}>
            <dt><code>{name}</code> <span class="type">{typeOf(field)}{s.required?.includes(name) ? "" : ", when it applies"}</span></dt>
            <dd>
              {field.description ?? full.description} {limits(full)}
              {nested && <details><summary>Fields</summary><Fields of={nested} depth={depth + 1} /></details>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** The object inside a field, if there is one to open. */
function nestedOf(s: Schema): Schema | null {
  let inner = schemaOf(s);
  const either = (inner.anyOf ?? inner.oneOf)?.find((x) => x.type !== "null");
  if (either) inner = schemaOf(either);
  while (inner.items) inner = schemaOf(inner.items);
  return inner.properties ? inner : null;
}

interface Tried {
  status: string;
  text: string;
}

const JSON_TYPE = "application/json";
const LONGEST_SHOWN = 20_000;

function Try({ path, op, given }: { path: string; op: Operation; given: Record<string, string> }) {
  const [tried, setTried] = useState<Tried | null>(null);
  const [busy, setBusy] = useState(false);
  const target = useMemo(() => targetOf(path, op, given), [path, op, given]);
  const headers = (op.parameters ?? []).filter((p) => p.in === "header" && given[p.name]).map((p) => [p.name, given[p.name]!] as const);
  const content = answerOf(op.responses["200"]!).content ?? {};
  const [type, { example }] = Object.entries(content)[0]!;
  const lacking = (op.parameters ?? []).filter((p) => p.in === "path" && target.includes(`{${p.name}}`)).map((p) => p.name);

  const shownHeaders = [...(op.security?.length ? ["KC-APIKey: $KEY"] : []), ...headers.map(([name, value]) => `${name}: ${value}`)];
  const curl = `curl ${type === "text/event-stream" ? "-N " : ""}${shownHeaders.map((h) => `-H "${h}" `).join("")}"${location.origin}${target}"`;

  const send = async () => {
    setBusy(true);
    const from = performance.now();
    const took = () => `${Math.round(performance.now() - from)} ms`;
    try {
      setTried(type === JSON_TYPE ? await askObject(target, took) : await askText(target, Object.fromEntries(headers), took));
    } catch (error) {
      const e = error as TidemarkError;
      setTried({ status: `${e.status || "no answer"}, ${took()}`, text: JSON.stringify({ error: e.message, ...(e.retryAfter && { retryAfter: e.retryAfter }) }, null, 2) });
    }
    setBusy(false);
  };

  const shown = tried?.text ?? (example === undefined ? null : typeof example === "string" ? example : JSON.stringify(example, null, 2));
  const needs = lacking.length > 0 ? `Needs ${lacking.join(" and ")}. ` : "";
  const says = needs + (tried ? tried.status : example !== undefined ? "An answer looks like this:" : "");
  return (
    <div class="try">
      <div class="code"><pre tabIndex={0}><code>{curl}</code></pre>
        <button type="button" class="copy" onClick={(e) => void copyFrom(e.currentTarget, curl)}>Copy</button></div>
      <div class="row">
        <button type="button" class="primary" disabled={busy || lacking.length > 0} onClick={() => void send()}>Try it</button>
        <span class="quiet" role="status">{says}</span>
      </div>
      {shown && <div class="code answer"><pre tabIndex={0}><code>{shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN)}\n… ${shown.length - LONGEST_SHOWN} more characters` : shown}</code></pre></div>}
    </div>
  );
}

function targetOf(path: string, op: Operation, given: Record<string, string>): string {
  let target = path;
  const query = new URLSearchParams();
  for (const p of op.parameters ?? []) {
    const value = given[p.name];
    if (p.in === "path") {
      const base = p.name === "protocol" ? "swapdex-v4" : p.name === "chainId" ? "1" : null;
      target = target.replace(`{${p.name}}`, value || base ? encodeURIComponent(value || base!) : `{${p.name}}`);
    } else if (p.in === "query" && value) query.set(p.name, value);
  }
  const text = query.toString();
  return text ? `${target}?${text}` : target;
}

/** Ask for an answer in JSON. Throws when it is an error. */
async function askObject(target: string, took: () => string): Promise<Tried> {
  meta.value = null;
  const answer = await client(1).get(target);
  const units = (meta.value as { unitsCharged: number } | null)?.unitsCharged;
  const cost = units === undefined ? "" : units === 1 ? ", 1 unit" : `, ${units} units`;
  return { status: `200, ${took()}${cost}`, text: JSON.stringify(answer, null, 2) };
}

/** Ask for the beginning of an export or a stream. What the whole of it costs is not known then. */
async function askText(target: string, headers: Record<string, string>, took: () => string): Promise<Tried> {
  const begun = await beginningOf(target, { ...(key.value && { "KC-APIKey": key.value }), ...headers }, LONGEST_SHOWN);
  const more = begun.whole ? "" : ", not read to its end";
  return { status: `${begun.status}, ${took()}${more}`, text: begun.text };
}

const place = document.createElement("div");
document.querySelector("main .beside")!.before(place);
render(<Reference />, place);

async function load() {
  failure.set(null);
  try {
    loaded.set(await client().get<Document>("/openapi.json"));
  } catch (error) {
    failure.set(error as Error);
    return;
  }
  // The address may name a route that was not there until now.
  requestAnimationFrame(() => document.getElementById(location.hash.slice(1))?.scrollIntoView());
}

void load();
