// Writes out/sbom.json from the modules that are linked and the licences that were found
// in them. Prints how many modules have which licence, and names those that only some
// modules may have.
import { readFileSync, writeFileSync } from "node:fs";

const lines = (file) => readFileSync(file, "utf8").split("\n").filter(Boolean);
const list = "cmd/tidemark/package/licences.txt";

const allowed = new Set();
const special = new Map(); // licence and module -> the licence that holds
for (const line of lines(list)) {
  const [licence, module, holds] = line.replace(/#.*/, "").trim().split(/\s+/);
  if (module) special.set(`${licence} ${module}`, holds ?? licence);
  else if (licence) allowed.add(licence);
}

const modules = new Map(); // path -> version and licences
for (const line of lines("out/modules.txt")) {
  const [name, version] = line.split(" ");
  modules.set(name, { version, licences: new Set() });
}

// A row of the licences names a folder of a module, which may have one of its own.
for (const line of lines("out/licences.csv")) {
  const [folder, , licence] = line.split(",");
  let name = folder;
  while (name.includes("/") && !modules.has(name)) name = name.slice(0, name.lastIndexOf("/"));
  modules.get(name)?.licences.add(licence);
}

const counts = new Map();
const named = [];
const refused = [];
for (const [name, { version, licences }] of modules) {
  if (licences.size === 0) refused.push(`${name} ${version}: no licence was found`);
  for (const found of [...licences]) {
    const licence = special.get(`${found} ${name}`) ?? found;
    counts.set(licence, (counts.get(licence) ?? 0) + 1);
    licences.delete(found);
    licences.add(licence);
    if (special.has(`${found} ${name}`)) named.push(`${name} ${version}: ${licence}`);
    else if (!allowed.has(licence)) refused.push(`${name} ${version}: ${licence} is not in ${list}`);
  }
}

const components = [...modules].map(([name, { version, licences }]) => ({
  type: "library",
  name,
  version,
  purl: `pkg:golang/${name}@${version}`,
  licenses: [...licences].sort().map((id) => ({ license: { id } })),
}));
const metadata = { component: { type: "application", name: "tidemark" } };
const document = { bomFormat: "CycloneDX", specVersion: "1.5", version: 1, metadata, components };
writeFileSync("out/sbom.json", `${JSON.stringify(document, null, 1)}\n`);

console.log(`${components.length} modules: ${[...counts].map(([l, n]) => `${n} ${l}`).join(", ")}`);
for (const line of named) console.log(line);
for (const line of refused) console.error(`sbom: ${line}`);
process.exit(refused.length > 0 ? 1 : 0);
