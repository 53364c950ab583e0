// What a page of the guides does beside being read: it is seen in the list of guides, and its code can be copied.
import { copyFrom } from "./copy.js";

// On a phone the guides stand in one row, which begins with the first.
document.querySelector(".contents [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

for (const block of document.querySelectorAll<HTMLElement>("div.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copyFrom(button, block.querySelector("code")!.textContent));
  block.append(button);
}
