// The page: its sections, in the order of the contents.
(() => {
  const R = gputreeReport;
  const { data, h, s, show, even, percent, plural } = R;
  const isClasses = data.task === "classes";
  const main = document.getElementById("content");
  const sections = [];

  function section(id, name, about, ...content) {
    const body = h("section", { id, "aria-labelledby": `${id}-head` }, h("div", { class: "head" }, h("h2", { id: `${id}-head` }, name), about ? h("p", {}, about) : null), ...content);
    sections.push({ id, name, body });
    return body;
  }
  const facts = (list) => h("dl", { class: "facts" }, list.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

  // The first lines.
  function top() {
    const first = data.scores[0];
    const size = Object.fromEntries(data.model.about);
    const what = size.trees ? `An ensemble of ${plural(Number(size.trees.replace(/,/g, "")), "tree")} with ${size.nodes} nodes` : `A tree of depth ${size.depth} with ${size.leaves} leaves`;
    const value = isClasses ? `classifies ${percent(first.value)}` : `explains ${percent(first.value)} of the variance`;
    const range = first.low === null ? "" : ` (95 % interval ${isClasses ? percent(first.low) : show(first.low, 3)} to ${isClasses ? percent(first.high) : show(first.high, 3)})`;
    const of = isClasses ? ` of ${plural(data.table.rows, "row")} correctly` : ` of the target on ${plural(data.table.rows, "row")}`;
    return h("header", { class: "top", id: "top" }, h("h1", {}, data.title),
      h("div", { class: "under" }, h("span", {}, data.model.name), h("span", {}, `${plural(data.table.rows, "row")} × ${plural(data.table.columns, "column")}`), h("span", {}, data.made)),
      h("p", { class: "lead" }, first.name === "R²" || isClasses ? `${what} ${value}${of}${range}.` : `${what}.`));
  }

  function scores() {
    const notes = [];
    if (data.same_size) notes.push("The model was fitted on as many rows as this report has. If they are the same rows, these scores are too optimistic: use rows that were not in training.");
    if (data.n_unseen) notes.push(`${plural(data.n_unseen, "row")} have a class that was not in training. They count as errors in the accuracy and are left out of all other scores and curves.`);
    const cards = data.scores.map(scoreCard);
    if (data.model.oob) cards.push(h("div", { class: "card score" }, h("div", { class: "name" }, isClasses ? "Out-of-bag accuracy" : "Out-of-bag R²"), h("div", { class: "value" }, even(data.model.oob.score)), h("div", { class: "range" }, "each row predicted by the trees that did not see it"), h("div", { class: "method" }, "from the fit, no interval")));
    return section("scores", "Scores", "On the rows of this report, with 95 % confidence intervals.", notes.map((note) => h("p", { class: "note", role: "note" }, note)), h("div", { class: "scores" }, cards));
  }
  function scoreCard(score) {
    const has = score.low !== null && score.high !== null;
    const arrow = score.low_is_good === null ? "" : score.low_is_good ? "lower is better" : "higher is better";
    const inUnit = score.low_is_good === false && has && score.low >= 0 && score.high <= 1;
    const line = inUnit ? s("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { x: 0, y: 4, width: 100, height: 2, rx: 1, fill: "var(--rule)" }),
      s("rect", { x: 100 * score.low, y: 3, width: Math.max(0.8, 100 * (score.high - score.low)), height: 4, fill: "var(--accent)", opacity: 0.45 }),
      s("rect", { x: 100 * score.value - 0.5, y: 0.5, width: 1, height: 9, fill: "var(--accent)" })) : null;
    return h("div", { class: "card score" }, h("div", { class: "name", title: arrow }, score.name), h("div", { class: "value" }, even(score.value)), line,
      h("div", { class: "range" }, has ? `${even(score.low)} to ${even(score.high)}` : "no interval"), h("div", { class: "method" }, `${score.meaning} · ${score.method}`));
  }

  function tree() {
    const n = data.trees.list.length;
    const about = n < data.trees.n_trees ? `${show(n)} of ${show(data.trees.n_trees)} trees are in this report.` : n > 1 ? `All ${show(n)} trees.` : "Click a node to read its rule, search the tree, or follow a row through it.";
    const cut = data.trees.list.some((each) => each.n_hidden.length);
    return section("tree", n > 1 ? "Trees" : "Tree", about + (cut ? " Large trees are shown down to a limited depth." : ""), R.makeExplorer());
  }

  // Classes.
  function confusionTable() {
    const { rows, columns, count } = data.confusion;
    const totals = count.map((row) => row.reduce((sum, each) => sum + each, 0));
    return h("figure", { class: "card" }, h("h3", {}, "Confusion matrix"), h("div", { class: "sub" }, "True classes in rows, predicted classes in columns; percentages per row."),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, h("table", { class: "matrix" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "true \\ predicted"), columns.map((name) => h("th", { scope: "col", title: name }, name)))),
        h("tbody", {}, rows.map((name, i) => h("tr", {}, h("th", { scope: "row", title: name }, name), columns.map((_, j) => {
          const share = totals[i] ? count[i][j] / totals[i] : 0;
          const colour = i === j ? "var(--c2)" : "var(--c4)";
          return h("td", { style: `background:color-mix(in srgb, ${colour} ${Math.round(share * 62)}%, var(--wash))` }, show(count[i][j]), h("small", {}, percent(share, share > 0 && share < 0.1 ? 1 : 0)));
        })))))), byClass(rows, columns, count, totals));
  }
  function byClass(rows, columns, count, totals) {
    const said = columns.map((_, j) => count.reduce((sum, row) => sum + row[j], 0));
    const share = (hit, of) => (of ? even(hit / of, 3) : "–");
    return h("div", { class: "scroll", style: "margin-top:18px" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Class", "Precision", "Recall", "F1", "Rows"].map((name, i) => h("th", { scope: "col", class: i ? "num" : null }, name)))),
      h("tbody", {}, columns.map((name, i) => h("tr", {}, h("th", { scope: "row" }, h("i", { class: "key", style: `background:${R.classColour(data.classes.indexOf(name), data.classes.length)};margin-right:8px` }), name),
        [share(count[i][i], said[i]), share(count[i][i], totals[i]), share(2 * count[i][i], said[i] + totals[i]), show(totals[i])].map((text) => h("td", { class: "num" }, text)))))));
  }
  function curveFigure(title, sub, lines, options, extra) {
    const colour = (line) => (lines.length === 1 ? "var(--c0)" : R.classColour(line.class, data.classes.length));
    const drawn = lines.map((line) => ({ ...line, colour: colour(line) }));
    return R.figure(title, sub, R.lineChart({ x: [0, 1], y: [0, 1], ...options }, drawn, extra), lines.length > 1 ? R.legend(lines.map((line, i) => [`${line.name}${options.figure ? ` ${options.figure(line)}` : ""}`, drawn[i].colour])) : null);
  }
  function diagonal(svg, toX, toY) { svg.append(s("path", { class: "guide", d: `M${toX(0)} ${toY(0)}L${toX(1)} ${toY(1)}` })); }
  function classes() {
    const { roc, precision_recall: recall, calibration, n_charted: n } = data.curves;
    const who = (line) => (data.classes.length === 2 ? `of class ${line.name}` : "each class against the rest");
    const parts = [confusionTable()];
    if (roc.length) {
      const area = (line) => show(line.area, 3);
      parts.push(
        curveFigure("ROC curve", `${who(roc[0])}${roc.length === 1 ? `, area ${area(roc[0])}` : ", with areas"}`, roc, { xName: "false positive rate", yName: "true positive rate", figure: area, alt: `ROC curves. ${roc.map((line) => `${line.name}: area ${area(line)}`).join("; ")}` }, diagonal),
        curveFigure("Precision and recall", `${who(recall[0])}${recall.length === 1 ? `, average precision ${area(recall[0])}` : ", with average precision"}`, recall, { xName: "recall", yName: "precision", figure: area, alt: `Precision and recall. ${recall.map((line) => `${line.name}: average precision ${area(line)}`).join("; ")}` },
          (svg, toX, toY) => { if (recall.length === 1) svg.append(s("path", { class: "guide", d: `M${toX(0)} ${toY(recall[0].share)}L${toX(1)} ${toY(recall[0].share)}` })); }),
        curveFigure("Calibration", `${who(calibration[0])}, grouped by predicted probability${calibration.length === 1 ? `; mean gap ${show(calibration[0].gap, 2)}` : ""}`, calibration.map((line) => ({ ...line, dots: true })), { xName: "predicted probability", yName: "observed frequency", figure: (line) => `gap ${show(line.gap, 2)}`, alt: `Calibration with Wilson intervals. ${calibration.map((line) => `${line.name}: mean gap ${show(line.gap, 2)}`).join("; ")}` }, diagonal));
    }
    const note = data.classes.length > 2 && n < data.classes.length ? ` The curves show the ${n} most frequent of ${data.classes.length} classes.` : "";
    return section("classes", "Classes", `Which classes are confused, and whether the probabilities can be trusted.${note}`, h("div", { class: "grid two" }, parts));
  }

  // Numbers.
  function numbers() {
    const parts = data.outputs.flatMap((output) => {
      const name = output.name ? `, ${output.name}` : "";
      const zero = (svg, toX, toY, x) => svg.append(s("path", { class: "guide", d: `M${toX(x[0])} ${toY(0)}L${toX(x[1])} ${toY(0)}` }));
      const same = (svg, toX, toY, x) => svg.append(s("path", { class: "guide", d: `M${toX(x[0])} ${toY(x[0])}L${toX(x[1])} ${toY(x[1])}` }));
      const [low, middle, high] = output.within;
      return [
        R.figure(`Predicted and actual${name}`, "On the dashed line, both are equal.", R.cloudChart({ square: true, xName: "actual", yName: "predicted", alt: `Predicted against actual values${name}` }, output.agreement, same)),
        R.figure(`Residuals${name}`, "Predicted minus actual, against the prediction.", R.cloudChart({ xName: "predicted", yName: "residual", alt: `Residuals against predictions${name}` }, output.residuals, zero)),
        R.figure(`Distribution of residuals${name}`, `Median ${show(middle, 3)}; 80 % lie between ${show(low, 3)} and ${show(high, 3)}.`, R.barChart({ xName: "residual", yName: "rows", alt: `Histogram of residuals; median ${show(middle, 3)}, 80 % between ${show(low, 3)} and ${show(high, 3)}` }, output.bars, (svg, toX, toY) => svg.append(s("path", { class: "guide", d: `M${toX(0)} ${toY(0)}V12` })))),
      ];
    });
    const more = data.n_outputs > data.outputs.length ? ` The first ${data.outputs.length} of ${data.n_outputs} outputs are shown.` : "";
    return section("numbers", "Predictions", `How close the predictions are to the actual values.${more}`, h("div", { class: "grid two" }, parts));
  }

  function importances() {
    const all = data.importances;
    const most = all[0]?.share || 1;
    const list = (items) => h("div", { class: "bars" }, items.map((each) => [h("span", { class: "label", title: each.name }, each.name), h("span", { class: "track" }, h("span", { class: "fill", style: `width:${(100 * each.share) / most}%` })), h("span", { class: "amount" }, percent(each.share))]));
    const head = all.slice(0, 20);
    const rest = all.slice(20, 400);
    return section("importances", "Importances", "The share of each column in the total gain of all splits, measured on the training rows. This favours columns with many distinct values.",
      h("div", { class: "card" }, list(head), rest.length ? h("details", {}, h("summary", {}, `${show(rest.length)} more`), list(rest)) : null));
  }

  function table() {
    const { list, columns, target, rows } = data.table;
    const line = (each) => {
      const range = each.kind === "numeric" ? (each.bars ? `${show(each.least)} to ${show(each.most)}, median ${show(each.quartiles[1])}` : "no values") : `${plural(each.distinct, "category", "categories")}${each.bars.categories.length ? `, most often ${each.bars.categories[each.bars.count.indexOf(Math.max(...each.bars.count))]}` : ""}`;
      const unseen = each.unseen ? `, ${plural(each.unseen, "row")} with categories that were not in training` : "";
      return h("tr", {}, h("th", { scope: "row" }, each.name), h("td", {}, h("span", { class: "kind" }, each.kind)), h("td", {}, each.bars ? R.spark(each.bars, `Histogram of ${each.name}: ${range}`) : ""), h("td", {}, range + unseen), h("td", { class: "num" }, show(each.distinct)), h("td", { class: "num" }, each.missing ? `${percent(each.missing / rows)}` : "–"));
    };
    const answers = isClasses
      ? h("div", { class: "card" }, h("h3", { style: "margin-bottom:10px" }, "Classes of the target"), h("div", { class: "bars" }, data.classes.map((name, i) => [h("span", { class: "label", title: name }, name), h("span", { class: "track" }, h("span", { class: "fill", style: `width:${(100 * target.count[i]) / Math.max(1, ...target.count)}%;background:${R.classColour(i, data.classes.length)}` })), h("span", { class: "amount" }, `${show(target.count[i])} · ${percent(target.count[i] / rows)}`)]).slice(0, 40)))
      : R.figure("Target", `${show(target.least)} to ${show(target.most)}, median ${show(target.quartiles[1])}, mean ${show(target.mean)}`, R.barChart({ xName: "target", yName: "rows", height: 200, alt: `Histogram of the target, ${show(target.least)} to ${show(target.most)}` }, target.bars));
    const missing = list.reduce((sum, each) => sum + each.missing, 0);
    return section("data", "Data", `${plural(rows, "row")} and ${plural(columns, "column")}; ${missing ? plural(missing, "missing value") : "no missing values"}.${list.length < columns ? ` The first ${list.length} columns are listed.` : ""}`,
      h("div", { style: "margin-bottom:16px;max-width:640px" }, answers),
      h("div", { class: "card scroll", tabindex: "0", role: "region", "aria-label": "Columns" }, h("table", { class: "columns" }, h("thead", {}, h("tr", {}, ["Column", "Kind", "Values", "Range", "Distinct", "Missing"].map((name, i) => h("th", { scope: "col", class: i > 3 ? "num" : null }, name)))), h("tbody", {}, list.map(line)))));
  }

  function learning() {
    const { lines, notes, step, what } = data.learning;
    const drawn = lines.map((line, at) => ({ ...line, colour: `var(--c${at})` }));
    const y = R.padded(R.extent(lines.map((line) => line.y)));
    const best = lines.map((line) => (line.best ? `${line.name}: lowest ${show(line.best[1])} after ${show(line.best[0])} ${step}` : line.name));
    return section("learning", "Learning", notes.join(" "), h("div", { class: "grid two" }, R.figure(`Error by number of ${step}`, best.join("; "), R.lineChart({ x: [1, Math.max(2, ...lines.flatMap((line) => line.x))], y, xName: step, yName: what, alt: `${what} by number of ${step}. ${best.join("; ")}` }, drawn), R.legend(drawn.map((line) => [line.name, line.colour])))));
  }
  function pruning() {
    const { lines, chosen, why, facts: list, axis } = data.pruning;
    const drawn = lines.map((line, at) => ({ ...line, colour: lines.length > 1 && at === 0 ? "var(--c7)" : "var(--c0)" }));
    const heights = lines.flatMap((line) => [line.y, line.low || [], line.high || []]);
    // Leaves by powers of ten where there are many: the small trees are the interesting ones.
    const most = Math.max(...lines.flatMap((line) => line.x));
    const isLog = most > 60;
    const place = (n) => (isLog ? Math.log10(n) : n);
    const format = { x: (at) => show(isLog ? Math.round(10 ** at) : at) };
    const logged = drawn.map((line) => ({ ...line, x: line.x.map(place) }));
    const xTicks = isLog ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 1e6].filter((n) => n <= most).map(Math.log10).filter((_, at, all) => all.length < 9 || at % 3 === 0) : undefined;
    const chart = R.lineChart({ x: [place(1), place(Math.max(2, most))], y: R.padded(R.extent(heights)), xName: "leaves", yName: axis, xTicks, format, alt: `${axis} against leaves; the model has ${show(chosen[0])} leaves` }, logged, (svg, toX, toY) => {
      svg.append(s("circle", { cx: toX(place(chosen[0])), cy: toY(chosen[1]), r: 7, fill: "none", stroke: "var(--path)", "stroke-width": 2.5 }));
    });
    return section("pruning", "Pruning", why, h("div", { class: "grid two" }, R.figure("Size and error", `The ring is this model: ${plural(chosen[0], "leaf", "leaves")}.`, chart, lines.length > 1 ? R.legend(drawn.map((line) => [line.name, line.colour])) : null), list.length ? h("div", { class: "card" }, facts(list)) : null));
  }

  function training() {
    const { parameters, fit } = data.model;
    const row = (each) => h("tr", { class: each.usual ? "usual" : null }, h("th", { scope: "row", class: each.usual ? "usual" : null }, each.name), h("td", {}, h("code", {}, each.value)));
    const chosen = parameters.filter((each) => !each.usual);
    const usual = parameters.filter((each) => each.usual);
    const most = fit ? Math.max(1e-9, ...fit.phases.map((each) => each.seconds || 0)) : 1;
    return section("training", "Training", null, h("div", { class: "grid two" },
      h("div", { class: "card" }, h("h3", {}, "Parameters"), chosen.length ? h("table", {}, h("tbody", {}, chosen.map(row))) : h("p", { class: "quiet" }, "All parameters have their default values."), usual.length ? h("details", {}, h("summary", {}, `${usual.length} at their defaults`), h("table", {}, h("tbody", {}, usual.map(row)))) : null),
      fit ? h("div", { class: "card" }, h("h3", { style: "margin-bottom:10px" }, "The fit"), facts(fit.facts), fit.notes.map((note) => h("p", { class: "quiet" }, note)),
        fit.phases.length ? h("details", {}, h("summary", {}, "Seconds by step"), h("div", { class: "bars" }, fit.phases.map((each) => [h("span", { class: "label" }, each.name), h("span", { class: "track" }, h("span", { class: "fill", style: `width:${(100 * each.seconds) / most}%` })), h("span", { class: "amount" }, `${show(each.seconds, 3)} s`)]))) : null)
        : h("div", { class: "card" }, h("p", { class: "quiet" }, "The model was read from a file; files do not store how a model was fitted."))));
  }

  function contents() {
    const theme = h("div", { class: "theme", role: "group", "aria-label": "Colours" });
    const names = { auto: "Auto", light: "Light", dark: "Dark" };
    const paint = () => theme.replaceChildren(...Object.entries(names).map(([name, label]) => h("button", { type: "button", "aria-pressed": R.theme() === name, onclick: () => { R.setTheme(name); paint(); theme.querySelector('[aria-pressed="true"]').focus(); } }, label)));
    paint();
    const links = sections.map(({ id, name, body }) => h("li", {}, h("a", { href: `#${id}`, onclick: (event) => { event.preventDefault(); body.scrollIntoView(); body.setAttribute("tabindex", "-1"); body.focus({ preventScroll: true }); } }, name)));
    document.getElementById("contents").append(h("div", { class: "brand" }, leafSign(), "gputree report"), h("ol", {}, links), h("div", { class: "foot" }, theme, h("div", {}, data.library)));
    const anchors = links.map((item) => item.firstChild);
    const mark = () => {
      let current = 0;
      sections.forEach(({ body }, at) => { if (body.getBoundingClientRect().top < window.innerHeight * 0.35) current = at; });
      anchors.forEach((anchor, at) => anchor.setAttribute("aria-current", at === current));
    };
    document.addEventListener("scroll", mark, { passive: true });
    mark();
  }
  const leafSign = () => s("svg", { width: 18, height: 18, viewBox: "0 0 18 18", "aria-hidden": "true" }, s("path", { d: "M9 3v4M9 7 4 11M9 7l5 4", stroke: "var(--faint)", "stroke-width": 1.4, fill: "none" }), s("circle", { cx: 9, cy: 3, r: 2.2, fill: "var(--c7)" }), s("circle", { cx: 4, cy: 13, r: 2.8, fill: "var(--c0)" }), s("circle", { cx: 14, cy: 13, r: 2.8, fill: "var(--c1)" }));

  const parts = [top(), scores(), tree(), isClasses ? classes() : numbers(), data.importances.length ? importances() : null, table(), data.learning.lines.length ? learning() : null, data.pruning ? pruning() : null, training()];
  main.replaceChildren(...parts.filter(Boolean));
  contents();
  document.documentElement.dataset.ready = "true";
})();
