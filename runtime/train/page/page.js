// Light or dark: as the system has it, or as the reader wants it. Paper is light.
function followTheme(onChange) {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  if (button) button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    onChange();
  });
  dark.addEventListener("change", onChange);
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    onChange(true);
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    onChange();
  });
}
