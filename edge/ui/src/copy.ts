const COPIED = "Copied";

/** Put text on the clipboard and say so on the button for a moment. */
export async function copyFrom(button: HTMLElement, text: string) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard: the old way still works.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  const label = button.textContent;
  if (label === COPIED) return; // of a moment ago: its timer goes on
  button.textContent = COPIED;
  setTimeout(() => (button.textContent = label), 1200);
}
