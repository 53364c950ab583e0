// Checks the licences of a CycloneDX document against a list. Prints how many modules
// have which licence, and names those that only some modules may have.
import { readFileSync } from "node:fs";

const [document, list] = process.argv.slice(2);
const allowed = new Set();
const special = new Map(); // licence and module -> allowed
for (const line of readFileSync(list, "utf8").split("\n")) {
  const [licence, module] = line.replace(/#.*/, "").trim().split(/\s+/);
  if (module) special.set(`${licence} ${module}`, true);
  else if (licence) allowed.add(licence);
}

const { components } = JSON.parse(readFileSync(document, "utf8"));
const counts = new Map();
const refused = [];
const named = [];
for (const { name, version, evidence, licenses } of components) {
  const found = (licenses ?? evidence?.licenses ?? []).map(({ license }) => license.id ?? license.name);
  if (!version || found.length === 0) refused.push(`${name} ${version}: no licence was found`);
  for (const licence of found) {
    const short = licence.replace(/-(only|or-later)$/, "");
    counts.set(short, (counts.get(short) ?? 0) + 1);
    if (special.has(`${short} ${name}`)) named.push(`${name} ${version}: ${licence}`);
    else if (!allowed.has(short)) refused.push(`${name} ${version}: ${licence} is not in ${list}`);
  }
}

console.log(`${components.length} modules: ${[...counts].map(([l, n]) => `${n} ${l}`).join(", ")}`);
for (const line of named) console.log(line);
if (!named.some((line) => line.includes("go-ethereum") && line.includes("LGPL-3.0"))) {
  refused.push("go-ethereum's LGPL-3.0 was not found");
}
for (const line of refused) console.error(`sbom: ${line}`);
process.exit(refused.length > 0 ? 1 : 0);
