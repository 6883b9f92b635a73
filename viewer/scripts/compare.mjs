// Whether the committed viewer.html is what the sources build.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "viewer-"));
const env = { ...process.env, VIEWER_OUT: folder };
const built = spawnSync("npx", ["vite", "build", "--logLevel", "warn"], { env, stdio: "inherit" });
if (built.status !== 0) process.exit(built.status ?? 1);
const fresh = readFileSync(join(folder, "viewer.html"));
const committed = readFileSync(resolve(import.meta.dirname, "../../src/pellucid/report/viewer.html"));
rmSync(folder, { recursive: true });
if (!fresh.equals(committed)) {
  console.error("src/pellucid/report/viewer.html is not what viewer/ builds: run `npm run build`.");
  process.exit(1);
}
console.log(`viewer.html is up to date (${Math.round(fresh.length / 1024)} KiB)`);
