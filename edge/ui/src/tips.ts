// One tooltip for the whole page: whatever has data-tip shows it when the
// pointer or the focus is on it, and on a tap.

const box = document.createElement("div");
box.className = "tip";
box.setAttribute("role", "tooltip");
box.id = "tip";
box.hidden = true;

let over: Element | null = null;

function show(target: Element) {
  if (over === target) return;
  hide();
  over = target;
  box.textContent = target.getAttribute("data-tip");
  box.hidden = false;
  target.setAttribute("aria-describedby", box.id);

  // Below the target, or above it where there is no room; never past an edge.
  const at = target.getBoundingClientRect();
  const size = box.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left + at.width / 2 - size.width / 2, innerWidth - size.width - 8));
  const below = at.bottom + 6 + size.height < innerHeight;
  box.style.left = `${left}px`;
  box.style.top = `${below ? at.bottom + 6 : at.top - 6 - size.height}px`;
}

function hide() {
  over?.removeAttribute("aria-describedby");
  over = null;
  box.hidden = true;
}

export function watchTips() {
  document.body.append(box);
  const follow = (event: Event) => {
    const target = (event.target as Element).closest?.("[data-tip]");
    if (target?.getAttribute("data-tip")) show(target);
    else hide();
  };
  document.addEventListener("pointerover", follow);
  document.addEventListener("focusin", follow);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}
