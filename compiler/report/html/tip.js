// What an element with data-tip says when it is pointed at or has the focus, and what a button with data-copy copies.
{
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "tooltip");
  document.body.append(tip);
  const show = (element, x, y) => {
    tip.textContent = element.dataset.tip;
    tip.hidden = false;
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = `${Math.max(6, Math.min(innerWidth - width - 6, x + 16))}px`;
    tip.style.top = `${Math.max(6, y + 18 + height > innerHeight ? y - height - 12 : y + 18)}px`;
  };
  const told = (event) => (event.target.closest ? event.target.closest("[data-tip]") : null);
  addEventListener("pointermove", (event) => {
    const element = told(event);
    if (element) show(element, event.clientX, event.clientY);
    else tip.hidden = true;
  });
  addEventListener("focusin", (event) => {
    const element = told(event);
    if (!element || !element.matches(":focus-visible")) return;
    const box = element.getBoundingClientRect();
    show(element, box.left + box.width / 3, box.bottom - 12);
  });
  addEventListener("focusout", () => (tip.hidden = true));
  addEventListener("scroll", () => (tip.hidden = true), { passive: true });
  addEventListener("click", async (event) => {
    const button = event.target.closest ? event.target.closest("[data-copy]") : null;
    if (!button) return;
    const before = button.textContent;
    let done = "copied";
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
    } catch {
      getSelection().selectAllChildren(button);  // the reader copies what is selected
      done = "";
    }
    if (!done) return;
    button.textContent = done;
    setTimeout(() => (button.textContent = before), 1200);
  });
}
