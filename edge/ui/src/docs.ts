// What a page of the guides does beside being read: its code can be copied.
import { copyFrom } from "./copy.js";

for (const block of document.querySelectorAll<HTMLElement>("div.code")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copyFrom(button, block.querySelector("code")!.textContent));
  block.append(button);
}
