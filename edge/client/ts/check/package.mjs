// The package of the client as a program gets it: packed, installed, compiled in strict projects, and run.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const client = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

const PROGRAM = `
import { Tidemark, Unreachable, type Position, type StreamEvent } from "tidemark-client";

const api = new Tidemark({ url: "http://127.0.0.1:1", attempts: 1 });

export async function best(): Promise<[number | null, string] | null> {
  for await (const position of api.exportPositions({ sort: "pnl" })) return [position.metrics.pnlUsd, position.positionId];
  return null;
}
export const rowOf = (e: StreamEvent): string => (e.event === "end" ? e.data.reason : e.id);
export const nothing: Position[] = [];

// @ts-expect-error
export const mistaken = () => api.positions({ sort: "nonsense" });

if (!(await best().catch((error: unknown) => error instanceof Unreachable))) throw new Error("no error of the client");
`;

const dir = mkdtempSync(join(tmpdir(), "tm-package-"));
const run = (...command) => execFileSync(command[0], command.slice(1), { cwd: dir, stdio: ["ignore", "pipe", process.stderr], encoding: "utf8" });
try {
  writeFileSync(join(dir, "package.json"), '{ "type": "module", "private": true }');
  const archive = run("npm", "pack", "--silent", client).trim();
  run("npm", "install", "--silent", "--no-audit", "--no-fund", `./${archive}`);
  run(process.execPath, "--input-type=module", "--eval", 'import { Tidemark } from "tidemark-client"; new Tidemark({ url: "" });');

  writeFileSync(join(dir, "program.ts"), PROGRAM);
  for (const [module, resolution] of [["node16", "node16"], ["esnext", "bundler"]]) {
    const how = ["--module", module, "--moduleResolution", resolution, "--target", "es2022", "--lib", "es2022,dom"];
    run(process.execPath, tsc, "program.ts", "--strict", "--exactOptionalPropertyTypes", ...how);
    run(process.execPath, "program.js");
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
