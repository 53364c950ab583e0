import { chromium } from "playwright-core";
const B = process.env.B ?? "http://127.0.0.1:18080", key = process.env.KEY;
const jobs = process.argv.slice(2); // name:path:width:theme
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const j of jobs) {
  const [name, path, w, theme, full] = j.split("|");
  const ctx = await browser.newContext({ viewport: { width: Number(w), height: Number(w) < 500 ? 760 : 900 }, colorScheme: theme, deviceScaleFactor: 1 });
  const page = await ctx.newPage();
  page.on("console", (m) => m.type() === "error" && console.log(name, "console:", m.text()));
  page.on("pageerror", (e) => console.log(name, "error:", e.message));
  if (key) await page.addInitScript((k) => sessionStorage.setItem("tidemark.key", k), key);
  await page.goto(B + path); await page.waitForTimeout(1800);
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) console.log(name, "overflows by", over);
  await page.screenshot({ path: `/tmp/ui/shots/${name}.png`, fullPage: full === "full" });
  await ctx.close();
}
await browser.close();
