// Runs before the page is drawn, so that a chosen theme never flashes.

import { inBrowser } from "./kept.js";

const NAME = "tidemark.theme";
const chosen = inBrowser.get(NAME);
if (chosen) document.documentElement.dataset.theme = chosen;

addEventListener("tidemark-theme", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  inBrowser.set(NAME, root.dataset.theme);
});

document.addEventListener("click", (event) => {
  if ((event.target as Element).closest?.("[data-theme-toggle]")) dispatchEvent(new Event("tidemark-theme"));
});
