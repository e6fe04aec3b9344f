// Charts as SVG elements, in the colours of the theme, each with its meaning in words.
(() => {
  const R = gputreeReport;
  const { h, s, show, short } = R;
  const WIDTH = 440, HEIGHT = 300;
  const SPACE = { right: 14, top: 12, bottom: 44 };
  const LETTER = 6.6; // about the width of a digit

  // Round numbers between two, about so many.
  function ticks(low, high, about = 5) {
    if (!(high > low)) return [low];
    const raw = (high - low) / about;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * ([1, 2, 2.5, 5, 10].find((each) => each * power >= raw) || 10);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
    return found;
  }
  function scale(low, high, from, to) {
    const width = high - low || 1;
    return (value) => from + ((value - low) / width) * (to - from);
  }
  function extent(lists) {
    let low = Infinity, high = -Infinity;
    for (const list of lists) for (const value of list) if (value !== null && Number.isFinite(value)) { low = Math.min(low, value); high = Math.max(high, value); }
    return low <= high ? [low, high] : [0, 1];
  }
  const padded = ([low, high], share = 0.05) => {
    const room = (high - low || Math.abs(high) || 1) * share;
    return [low - room, high + room];
  };

  // The frame of a chart: axes, names, grid. `draw` fills it.
  function frame({ x, y, xName, yName, alt, height = HEIGHT, xTicks, yTicks, format }, draw) {
    const yAt = (yTicks || ticks(y[0], y[1])).map((at) => [at, (format?.y || short)(at)]);
    const left = 30 + LETTER * Math.max(2, ...yAt.map(([, text]) => text.length));
    const right = WIDTH - SPACE.right, bottom = height - SPACE.bottom;
    const toX = scale(x[0], x[1], left, right);
    const toY = scale(y[0], y[1], bottom, SPACE.top);
    const svg = s("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": alt });
    for (const [at, text] of yAt) {
      svg.append(
        s("line", { class: "grid-line", x1: left, x2: right, y1: toY(at), y2: toY(at) }),
        s("text", { x: left - 8, y: toY(at) + 4, "text-anchor": "end" }, text));
    }
    for (const at of xTicks || ticks(x[0], x[1])) {
      svg.append(s("text", { x: toX(at), y: bottom + 18, "text-anchor": "middle" }, (format?.x || short)(at)));
    }
    svg.append(
      s("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
      s("text", { class: "axis-name", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, xName),
      s("text", { class: "axis-name", transform: `translate(13 ${(SPACE.top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yName));
    draw(svg, toX, toY);
    return svg;
  }

  const path = (xs, ys, toX, toY) =>
    xs.map((x, at) => (ys[at] === null ? "" : `${at === 0 || ys[at - 1] === null ? "M" : "L"}${toX(x).toFixed(1)} ${toY(ys[at]).toFixed(1)}`)).join("");

  // Lines with what lies under the pointer; `lines` have name, x, y, colour and perhaps low, high.
  function lineChart(options, lines, extra) {
    return frame(options, (svg, toX, toY) => {
      extra?.(svg, toX, toY);
      for (const line of lines) {
        if (line.low) {
          for (let at = 0; at < line.x.length; at++) {
            if (line.low[at] === null) continue;
            svg.append(s("line", { x1: toX(line.x[at]), x2: toX(line.x[at]), y1: toY(line.low[at]), y2: toY(line.high[at]), stroke: line.colour, "stroke-width": 1.4, opacity: 0.55 }));
          }
        }
        svg.append(s("path", { d: path(line.x, line.y, toX, toY), fill: "none", stroke: line.colour, "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": line.dash }));
        if (line.dots) line.x.forEach((x, at) => svg.append(s("circle", { cx: toX(x), cy: toY(line.y[at]), r: 3.4, fill: line.colour })));
      }
      const marks = lines.map((line) => s("circle", { r: 4, fill: line.colour, stroke: "var(--card)", "stroke-width": 1.5, visibility: "hidden" }));
      svg.append(...marks);
      svg.addEventListener("pointermove", (event) => {
        const box = svg.getBoundingClientRect();
        const at = ((event.clientX - box.left) / box.width) * WIDTH;
        const words = lines.map((line, which) => {
          let near = 0;
          line.x.forEach((x, i) => { if (line.y[i] !== null && Math.abs(toX(x) - at) < Math.abs(toX(line.x[near]) - at)) near = i; });
          marks[which].setAttribute("cx", toX(line.x[near]));
          marks[which].setAttribute("cy", toY(line.y[near]));
          marks[which].setAttribute("visibility", "visible");
          return `${line.name}: ${show(line.x[near])} → ${show(line.y[near])}${line.n ? ` (${show(line.n[near])} rows)` : ""}`;
        });
        R.showTip(event, words.join("\n"));
      });
      svg.addEventListener("pointerleave", () => { R.hideTip(); marks.forEach((mark) => mark.setAttribute("visibility", "hidden")); });
    });
  }

  // Points, or a grid of cells the fuller the darker.
  function cloudChart(options, cloud, extra) {
    const ranges = cloud.cells ? [cloud.x_range, cloud.y_range] : [extent([cloud.x]), extent([cloud.y])];
    const shared = options.square ? [Math.min(ranges[0][0], ranges[1][0]), Math.max(ranges[0][1], ranges[1][1])] : null;
    const x = padded(shared || ranges[0]), y = padded(shared || ranges[1]);
    return frame({ ...options, x, y }, (svg, toX, toY) => {
      extra?.(svg, toX, toY, x, y);
      if (!cloud.cells) {
        const opacity = cloud.x.length > 400 ? 0.4 : 0.6;
        svg.append(s("g", { fill: "var(--c0)", "fill-opacity": opacity }, cloud.x.map((each, at) => s("circle", { cx: toX(each).toFixed(1), cy: toY(cloud.y[at]).toFixed(1), r: 2.8 }))));
        return;
      }
      const most = Math.log1p(Math.max(...cloud.count));
      const n = cloud.cells;
      const [xLow, xHigh] = cloud.x_range, [yLow, yHigh] = cloud.y_range;
      const stepX = (xHigh - xLow) / n || 1, stepY = (yHigh - yLow) / n || 1;
      const group = s("g", { fill: "var(--c0)" });
      cloud.at.forEach((cell, i) => {
        const column = Math.floor(cell / n), row = cell % n;
        const left = toX(xLow + column * stepX), top = toY(yLow + (row + 1) * stepY);
        group.append(s("rect", {
          x: left.toFixed(1), y: top.toFixed(1), width: Math.max(1, toX(xLow + (column + 1) * stepX) - left - 0.4).toFixed(1),
          height: Math.max(1, toY(yLow + row * stepY) - top - 0.4).toFixed(1), rx: 1, "fill-opacity": (0.12 + (0.88 * Math.log1p(cloud.count[i])) / most).toFixed(2),
        }));
      });
      svg.append(group);
    });
  }

  function barChart(options, bars, extra) {
    const n = bars.count.length;
    const step = (bars.high - bars.low) / n || 1;
    const most = Math.max(1, ...bars.count);
    return frame({ ...options, x: [bars.low, bars.low + step * n], y: [0, most * 1.05] }, (svg, toX, toY) => {
      bars.count.forEach((count, at) => {
        const left = toX(bars.low + at * step);
        const bar = s("rect", { x: left, y: toY(count), width: Math.max(1, toX(bars.low + (at + 1) * step) - left - 1), height: toY(0) - toY(count), fill: "var(--c0)", rx: 1.5 });
        bar.addEventListener("pointermove", (event) => R.showTip(event, `${show(bars.low + at * step)} to ${show(bars.low + (at + 1) * step)}: ${R.plural(count, "row")}`));
        bar.addEventListener("pointerleave", R.hideTip);
        svg.append(bar);
      });
      extra?.(svg, toX, toY);
    });
  }

  // A histogram of a few pixels for tables.
  function spark(bars, words) {
    const counts = bars.count;
    const most = Math.max(1, ...counts);
    const width = 132, height = 30;
    const step = width / Math.max(counts.length, 6);
    return s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words, preserveAspectRatio: "none" },
      counts.map((count, at) => {
        const tall = count ? Math.max(1.5, (count / most) * (height - 1)) : 0;
        const bar = s("rect", { x: at * step, y: height - tall, width: Math.max(0.8, step - 1), height: tall, fill: "var(--accent)", opacity: 0.75, rx: 1 });
        const name = bars.categories ? bars.categories[at] : `${show(bars.low + ((bars.high - bars.low) * at) / counts.length)} to ${show(bars.low + ((bars.high - bars.low) * (at + 1)) / counts.length)}`;
        bar.addEventListener("pointermove", (event) => R.showTip(event, `${name}: ${R.plural(count, "row")}`));
        bar.addEventListener("pointerleave", R.hideTip);
        return bar;
      }));
  }

  // The tested column in a node: bars by class, or coloured by the mean of the target.
  function nodeBars(bars, { names, colours, threshold, categories, goesLeft, feature }) {
    const width = 330, bottom = 34, top = 8;
    const isNominal = Boolean(bars.categories);
    const total = bars.count[0].map((_, at) => bars.count.reduce((sum, group) => sum + group[at], 0));
    const most = Math.max(1, ...total);
    if (isNominal) return categoryBars(bars, total, most, { names, colours, categories, goesLeft });
    const height = 132;
    const n = total.length;
    const toX = scale(bars.low, bars.high, 4, width - 4);
    const toY = scale(0, most, height - bottom, top + 12);
    const svg = s("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Histogram of ${feature} in this node, between ${show(bars.low)} and ${show(bars.high)}` });
    const [low, high] = bars.mean ? extent([bars.mean]) : [0, 1];
    const stepX = (width - 8) / n;
    total.forEach((count, at) => {
      let base = 0;
      const words = [`${show(bars.low + ((bars.high - bars.low) * at) / n)} to ${show(bars.low + ((bars.high - bars.low) * (at + 1)) / n)}`];
      const column = s("g", {});
      bars.count.forEach((group, which) => {
        if (!group[at]) return;
        column.append(s("rect", { x: 4 + at * stepX, y: toY(base + group[at]), width: stepX - 1, height: toY(base) - toY(base + group[at]), fill: bars.mean ? "var(--seq-high)" : colours[which], opacity: bars.mean ? 0.25 + 0.75 * ((bars.mean[at] - low) / (high - low || 1)) : 1 }));
        words.push(bars.mean ? `${R.plural(group[at], "row")}, mean ${show(bars.mean[at])}` : `${names[which]}: ${show(group[at])}`);
        base += group[at];
      });
      column.append(s("rect", { x: 4 + at * stepX, y: top, width: stepX, height: height - bottom - top, fill: "transparent" }));
      column.addEventListener("pointermove", (event) => R.showTip(event, words.join("\n")));
      column.addEventListener("pointerleave", R.hideTip);
      svg.append(column);
    });
    svg.append(s("line", { class: "axis", x1: 4, x2: width - 4, y1: height - bottom, y2: height - bottom }),
      s("text", { x: 4, y: height - bottom + 16 }, show(bars.low)), s("text", { x: width - 4, y: height - bottom + 16, "text-anchor": "end" }, show(bars.high)));
    if (threshold !== null && threshold >= bars.low && threshold <= bars.high) {
      const x = toX(threshold);
      svg.append(s("line", { x1: x, x2: x, y1: top, y2: height - bottom + 4, stroke: "var(--path)", "stroke-width": 2 }),
        s("text", { x: Math.max(34, Math.min(width - 34, x)), y: height - 4, "text-anchor": "middle", style: "fill: var(--path); font-weight: 600" }, `≤ ${show(threshold, 6)}`));
    }
    return svg;
  }
  function categoryBars(bars, total, most, { names, colours, categories, goesLeft }) {
    const [low, high] = bars.mean ? extent([bars.mean]) : [0, 1];
    return h("div", { class: "bars" }, bars.categories.map((category, at) => [
      h("span", { class: "label", title: categories[category] }, `${goesLeft(category)} ${categories[category]}`),
      h("span", { class: "track", "aria-hidden": "true" }, bars.count.map((group, which) => h("span", {
        style: `height:100%;width:${(100 * group[at]) / most}%;background:${bars.mean ? "var(--seq-high)" : colours[which]};opacity:${bars.mean ? 0.25 + 0.75 * ((bars.mean[at] - low) / (high - low || 1)) : 1}`,
        title: bars.mean ? `mean ${show(bars.mean[at])}` : `${names[which]}: ${show(group[at])}`,
      }))),
      h("span", { class: "amount" }, show(total[at])),
    ]));
  }

  const legend = (items) => h("div", { class: "legend" }, items.map(([name, colour]) => h("span", {}, h("i", { class: "key", style: `background:${colour}` }), name)));
  function figure(title, sub, chart, ...more) {
    return h("figure", { class: "card" }, h("h3", {}, title), h("div", { class: "sub" }, sub), chart, ...more);
  }

  Object.assign(R, { lineChart, cloudChart, barChart, spark, nodeBars, legend, figure, extent, padded, ticks });
})();
