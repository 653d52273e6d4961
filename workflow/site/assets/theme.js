// Light or dark: as the system, or as chosen here; paper is light. Runs before the first paint.
"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("svmrepro-theme"); } catch { return null; } };
  const apply = ({ type } = {}) => {
    const dark = type !== "beforeprint" && (stored() ? stored() === "dark" : system.matches);
    root.classList.toggle("dark", dark);
    root.style.colorScheme = dark ? "dark" : "light";
    dispatchEvent(new Event("themechange"));
  };
  apply();
  system.addEventListener("change", apply);
  for (const name of ["beforeprint", "afterprint"]) addEventListener(name, apply);
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      try { localStorage.setItem("svmrepro-theme", root.classList.contains("dark") ? "light" : "dark"); } catch { /* private mode */ }
      apply();
    });
  });
})();
