// What all parts share: the data, elements, numbers, the theme and the tip.
// Text from the data only ever becomes text: nothing is parsed as HTML.
"use strict";
const gputreeReport = (() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined) continue;
      if (name.startsWith("aria-")) element.setAttribute(name, String(value)); // false is a value
      else if (value === false) continue;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") element.style.cssText = value;
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child instanceof Node ? child : String(child));
    }
    return element;
  }
  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  // Numbers for people: about so many significant digits, thousands apart.
  const minus = (text) => text.replace(/^-/, "−").replace("e-", "e−");
  function show(value, digits = 4, isPadded = false) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    if (Number.isInteger(value) && Math.abs(value) < 1e9) return minus(value.toLocaleString("en-US"));
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-4 || size >= 1e9)) return minus(value.toExponential(Math.max(0, digits - 2)));
    const decimals = Math.min(12, Math.max(0, digits - 1 - Math.floor(Math.log10(size || 1))));
    return minus(Number(value.toFixed(decimals)).toLocaleString("en-US", { minimumFractionDigits: isPadded ? decimals : 0, maximumFractionDigits: decimals }));
  }
  // Figures that stand beside others: as many digits each, 0.8600 beside 0.7797.
  const even = (value, digits = 4) => show(value, digits, true);
  // For axes: 200K is read faster than 200,000.
  const short = (value) => (Math.abs(value) < 1e4 || Math.abs(value) >= 1e15 ? show(value)
    : minus(value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 2 })));
  const percent = (share, decimals = 1) =>
    share === null || Number.isNaN(share) ? "–" : `${(100 * share).toFixed(decimals)}\u00a0%`;
  const plural = (n, one, many = `${one}s`) => `${show(n)} ${n === 1 ? one : many}`;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function classColour(at, n) {
    if (at >= 0 && n <= 8) return `var(--c${at})`;
    return at < 0 ? "var(--c7)" : `hsl(${Math.round((at * 360) / n + 205) % 360} 58% 52%)`;
  }
  // A colour that a canvas understands.
  function plainColour(colour) {
    const found = /^var\((--\w+(?:-\w+)*)\)$/.exec(colour);
    return found ? css(found[1]) : colour;
  }

  // The theme: as the system has it, unless somebody chose.
  const listeners = [];
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  let choice = "auto";
  try { choice = localStorage.getItem("gputree-theme") || "auto"; } catch { /* not in every frame */ }
  function applyTheme() {
    const dark = choice === "dark" || (choice === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    listeners.forEach((tell) => tell());
  }
  function setTheme(name) {
    choice = name;
    try { localStorage.setItem("gputree-theme", name); } catch { /* remembered for this page only */ }
    applyTheme();
  }
  system.addEventListener("change", applyTheme);
  applyTheme();
  window.addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light";
    listeners.forEach((tell) => tell());
  });
  window.addEventListener("afterprint", applyTheme);

  const tip = document.getElementById("tip");
  function showTip(event, text) {
    tip.textContent = text;
    tip.hidden = false;
    const { innerWidth, innerHeight } = window;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8))}px`;
  }
  const hideTip = () => { tip.hidden = true; };

  return {
    data, h, s, show, even, short, percent, plural, css, classColour, plainColour, showTip, hideTip, setTheme,
    theme: () => choice, onTheme: (tell) => listeners.push(tell),
    calm: () => window.matchMedia("(prefers-reduced-motion: reduce)").matches,
  };
})();
