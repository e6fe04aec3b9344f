// The tree to walk through: tools above it, and beside it a node, or a row on its way.
(() => {
  const R = gputreeReport;
  const { data, h, show, percent, plural } = R;
  const schema = data.schema;
  const MOST_FIELDS = 80;

  const corners = () => R.s("svg", { width: 13, height: 13, viewBox: "0 0 13 13", "aria-hidden": "true" }, R.s("path", { d: "M1 4.5V1h3.5M8.5 1H12v3.5M12 8.5V12H8.5M4.5 12H1V8.5", fill: "none", stroke: "currentColor", "stroke-width": 1.6 }));

  function explorer() {
    const trees = data.trees.list.map(R.prepared);
    let tree = trees[0];
    let texts = null; // of all nodes, for searches; made when somebody searches
    let matches = [];
    let at = -1;
    let cells = schema.names.map(() => null);

    const sheet = h("div", { class: "sheet", tabindex: "0", role: "tree", id: "tree-sheet", "aria-label": "Decision tree. Arrow keys move, Enter opens and closes, plus and minus zoom, 0 shows all.", "aria-activedescendant": "tree-node" },
      h("canvas", { "aria-hidden": "true" }), h("div", { class: "hidden-text", id: "tree-node", role: "treeitem" }),
      h("div", { class: "hint" }, "drag to pan · Ctrl + wheel to zoom · double-click to open or close"));
    const item = sheet.querySelector("#tree-node");
    const panel = h("div", { class: "panel", id: "tree-panel", role: "tabpanel", tabindex: "0" });
    const live = h("div", { class: "hidden-text", "aria-live": "polite" });
    let tab = "node";
    const tabs = ["node", "row"].map((name) => h("button", {
      role: "tab", type: "button", id: `tab-${name}`, "aria-controls": "tree-panel", onclick: () => showTab(name),
      onkeydown: (event) => { if (["ArrowLeft", "ArrowRight"].includes(event.key)) { showTab(name === "node" ? "row" : "node"); document.getElementById(`tab-${tab}`).focus(); } },
    }, name === "node" ? "Node" : "Try a row"));
    const counted = h("span", { class: "matches", role: "status" });
    const field = h("input", { type: "search", placeholder: "Search: column, rule, class, node 12", "aria-label": "Search the tree", oninput: () => search(field.value), onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); step(event.shiftKey ? -1 : 1); } else if (event.key === "Escape") { field.value = ""; search(""); } } });
    const depth = h("select", { "aria-label": "Open the tree down to a depth", onchange: () => { if (depth.value === "") return; view.openTo(Number(depth.value)); view.fit(); } });
    const tool = (name, title, act) => h("button", { class: "tool", type: "button", title, "aria-label": title, onclick: act }, name);
    const chooser = trees.length > 1 ? h("label", {}, "Tree", h("select", { id: "tree-choice", onchange: (event) => choose(Number(event.target.value)) }, trees.map((each, i) => h("option", { value: i }, each.name)))) : null;
    const whole = h("div", { class: "card explorer", id: "explorer" },
      h("div", { class: "tools" }, chooser,
        h("div", { class: "search" }, field, counted, tool("↑", "Previous match", () => step(-1)), tool("↓", "Next match", () => step(1))),
        h("div", { class: "group" }, depth, tool("−", "Zoom out", () => view.zoom(1 / 1.35)), tool("+", "Zoom in", () => view.zoom(1.35)), tool("Fit", "Show the whole tree", () => view.fit()),
          document.fullscreenEnabled ? tool(corners(), "Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : whole.requestFullscreen())) : null)),
      h("div", { class: "stage" }, sheet, h("div", { class: "side" }, h("div", { class: "tabs", role: "tablist", "aria-label": "Beside the tree" }, tabs), panel)), live);

    const view = new R.TreeView(sheet, tree, {
      select: (node) => selected(node),
      toggle: () => { announce(view.selected); if (tab === "node") showTab("node"); },
    });
    sheet.addEventListener("keydown", (event) => key(event));

    function fillDepths() {
      const most = Math.max(...tree.depth);
      const steps = [...new Set([1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30].filter((each) => each < most))];
      depth.replaceChildren(h("option", { value: "" }, "Depth…"), ...steps.map((each) => h("option", { value: each }, `Depth ${each}`)), h("option", { value: most }, `All (${show(tree.n)} nodes)`));
    }
    function choose(number) {
      tree = trees[number];
      texts = null;
      view.setTree(tree);
      view.start();
      fillDepths();
      search(field.value);
      selected(0, true);
      if (view.wanted) follow();
    }

    // Keys: down into children, up to parents, left and right along a level.
    function key(event) {
      const node = view.selected;
      const go = (to) => { event.preventDefault(); if (to >= 0) view.select(to); };
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      switch (event.key) {
        case "ArrowDown":
          if (!R.isLeaf(tree, node)) { if (!view.open[node]) view.toggle(node); go(tree.first[node]); } else event.preventDefault();
          break;
        case "ArrowUp": go(tree.parent[node]); break;
        case "ArrowLeft": case "ArrowRight": {
          const row = view.rows[tree.depth[node]] || [];
          go(row[row.indexOf(node) + (event.key === "ArrowLeft" ? -1 : 1)] ?? -1);
          break;
        }
        case "Enter": case " ": event.preventDefault(); view.toggle(node); break;
        case "Home": go(0); break;
        case "+": case "=": event.preventDefault(); view.zoom(1.35); break;
        case "-": event.preventDefault(); view.zoom(1 / 1.35); break;
        case "0": event.preventDefault(); view.fit(); break;
        case "Escape": forget(); break;
        default:
      }
    }
    function announce(node) {
      const leaf = R.isLeaf(tree, node);
      const siblings = tree.parent[node] >= 0 ? tree.n_children[tree.parent[node]] : 1;
      item.setAttribute("aria-level", tree.depth[node] + 1);
      item.setAttribute("aria-setsize", siblings);
      item.setAttribute("aria-posinset", tree.parent[node] >= 0 ? node - tree.first[tree.parent[node]] + 1 : 1);
      if (leaf) item.removeAttribute("aria-expanded"); else item.setAttribute("aria-expanded", Boolean(view.open[node]));
      item.setAttribute("aria-selected", "true");
      item.textContent = `Node ${node}, ${leaf ? "leaf" : `splits on ${R.featureName(tree, node)}`}, ${plural(tree.rows[node], "row")}, ${R.answerText(tree, node)}`;
      live.textContent = item.textContent;
    }
    function selected(node, quiet = false) {
      announce(node);
      if (!quiet && tab !== "node" && !view.wanted) showTab("node"); else showTab(tab);
    }

    // Searching.
    function search(query) {
      const wanted = query.trim().toLowerCase();
      matches = [];
      at = -1;
      if (wanted) {
        texts = texts || Array.from({ length: tree.n }, (_, node) => R.searchText(tree, node));
        const exact = /^(?:node\s+|#)(\d+)$/.exec(wanted);
        const words = wanted.split(/\s+/);
        if (exact) { if (Number(exact[1]) < tree.n) matches = [Number(exact[1])]; }
        else {
          matches = texts.flatMap((text, node) => (text.includes(wanted) ? [node] : []));
          if (!matches.length) matches = texts.flatMap((text, node) => (words.every((word) => text.includes(word)) ? [node] : []));
        }
      }
      view.found = new Set(matches);
      counted.textContent = wanted ? plural(matches.length, "match", "matches") : "";
      view.draw();
    }
    function step(by) {
      if (!matches.length) return;
      at = (at + by + matches.length) % matches.length;
      counted.textContent = `${show(at + 1)} of ${show(matches.length)}`;
      if (!view.wanted) tab = "node";
      view.select(matches[at]);
    }

    function showTab(name) {
      tab = name;
      tabs.forEach((each, i) => { const on = (i === 0) === (name === "node"); each.setAttribute("aria-selected", on); each.tabIndex = on ? 0 : -1; });
      panel.setAttribute("aria-labelledby", `tab-${name}`);
      if (name === "node") panel.replaceChildren(...nodePanel(view.selected));
      else if (panel.dataset.shows !== `row-${tree.name}`) panel.replaceChildren(...rowPanel());
      panel.dataset.shows = name === "node" ? "node" : `row-${tree.name}`;
    }

    // A node in words and bars.
    function nodePanel(node) {
      const leaf = R.isLeaf(tree, node);
      const facts = [
        ["training rows", show(tree.rows[node])],
        tree.weight[node] !== tree.rows[node] ? ["weight", show(tree.weight[node], 5)] : null,
        ["rows of this report", show(tree.here[node])],
        data.trees.speaks === "adds" ? null : ["impurity", show(tree.impurity[node])],
        leaf ? null : ["gain of the split", show(tree.gain[node])],
        leaf ? null : ["missing values go", R.missingText(tree, node)],
      ].filter(Boolean);
      const surrogates = leaf ? [] : R.surrogateLines(tree, node);
      return [
        h("h3", {}, `${leaf ? "Leaf" : "Node"} ${node}${leaf ? "" : `: ${R.question(tree, node)}`}`),
        h("p", { class: "rule", id: "node-rule" }, R.sentence(tree, node).map(([text, bold]) => (bold ? h("b", {}, text) : text))),
        tree.hidden(node) ? h("p", { class: "chip" }, "the nodes below are not in this report") : null,
        h("div", { class: "buttons" },
          tree.parent[node] >= 0 ? h("button", { class: "tool", type: "button", onclick: () => view.select(tree.parent[node]) }, "Parent") : null,
          leaf ? null : h("button", { class: "tool", type: "button", onclick: () => view.toggle(node) }, view.open[node] ? "Close" : "Open"),
          leaf || !view.open[node] ? null : Array.from({ length: Math.min(tree.n_children[node], 2) }, (_, slot) => h("button", { class: "tool", type: "button", onclick: () => view.select(tree.first[node] + slot) }, tree.n_children[node] === 2 ? ["Left", "Right"][slot] : `Child ${slot + 1}`))),
        classBars(R.answer(tree, node), tree.weight[node]),
        ...(leaf ? [] : splitBars(node)),
        h("h4", {}, "Facts"), h("dl", { class: "facts" }, facts.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
        ...(surrogates.length ? [h("h4", {}, "Surrogates"), h("ol", { class: "steps" }, surrogates.map((line) => h("li", {}, line)))] : []),
      ].filter(Boolean);
    }
    function classBars(share, weight, heading = "Classes in training") {
      if (data.trees.speaks !== "classes") return null;
      const order = share.map((_, i) => i).sort((a, b) => share[b] - share[a]).slice(0, 10);
      return h("div", {}, h("h4", {}, heading), h("div", { class: "bars" }, order.map((which) => [
        h("span", { class: "label", title: data.classes[which] }, data.classes[which]),
        h("span", { class: "track" }, h("span", { class: "fill", style: `width:${100 * share[which]}%;background:${R.classColour(which, data.classes.length)}` })),
        h("span", { class: "amount" }, `${percent(share[which])}${weight === undefined ? "" : ` · ${show(share[which] * weight, 5)}`}`),
      ])));
    }
    function groups() {
      const n = data.classes ? data.classes.length : 0;
      if (!n) return { names: ["rows"], colours: ["var(--c0)"] };
      if (n <= 8) return { names: [...data.classes, "not in training"], colours: [...data.classes.map((_, i) => R.classColour(i, n)), "var(--c7)"] };
      return { names: [...data.classes.slice(0, 7), "all others"], colours: [...data.classes.slice(0, 7).map((_, i) => R.classColour(i, n)), "var(--c7)"] };
    }
    function splitBars(node) {
      const { name, categories } = R.columnOf(tree, tree.feature[node]);
      const bars = tree.bars.bars[node];
      const heading = h("h4", {}, `${name} in this node, rows of this report`);
      if (!bars || !bars.count) {
        const why = bars ? "All values are missing here." : tree.here[node] ? `Histograms are kept only for the ${show(tree.bars.n_nodes)} nodes with the most rows.` : "No row of this report reaches this node.";
        return [heading, h("p", { class: "quiet" }, why)];
      }
      const { names, colours } = groups();
      const arrow = (category) => {
        const start = tree.categoryStart(node);
        const slot = start >= 0 ? tree.categorySlot(start, category) : category <= tree.threshold[node] ? 0 : 1;
        return tree.n_children[node] > 2 ? "" : slot === 0 ? "←" : slot === 1 ? "→" : "·";
      };
      const used = bars.count.map((group, i) => [names[i], colours[i], group.some(Boolean)]).filter(([, , some]) => some);
      return [heading,
        R.nodeBars(bars, { names, colours, categories, feature: name, threshold: categories === null ? tree.threshold[node] : null, goesLeft: arrow }),
        data.classes ? R.legend(used) : h("p", { class: "quiet" }, "The stronger the colour, the larger the mean of the target."),
        bars.missing ? h("p", { class: "quiet" }, `${plural(bars.missing, "row")} with a missing value`) : null,
        bars.others ? h("p", { class: "quiet" }, `${plural(bars.others, "row")} with other categories`) : null].filter(Boolean);
    }

    // A row on its way.
    const result = h("div", { id: "row-result", "aria-live": "polite" });
    function rowPanel() {
      const text = h("textarea", { id: "row-text", spellcheck: "false", "aria-label": "A row as CSV or JSON", placeholder: example() });
      const used = [...new Set([...tree.feature.filter((each) => each >= 0), ...tree.combinations.flatMap((each) => each.columns), ...(tree.surrogates.feature || [])])].sort((a, b) => a - b);
      const fields = used.slice(0, MOST_FIELDS).map((column) => [h("label", { for: `cell-${column}`, title: schema.names[column] }, schema.names[column]), cellField(column)]);
      return [
        h("p", { class: "quiet" }, "Paste a row as CSV (with or without names) or JSON, or fill in the columns that this tree tests. An empty cell is a missing value."),
        h("div", { style: "margin-top:10px" }, text),
        h("div", { class: "buttons" },
          h("button", { class: "tool main", type: "button", id: "row-follow", onclick: () => paste(text.value) }, "Follow the row"),
          h("button", { class: "tool", type: "button", onclick: () => { text.value = ""; forget(); panel.dataset.shows = ""; showTab("row"); } }, "Clear")),
        result,
        h("h4", {}, "Columns that the tree tests"), h("div", { class: "fields" }, fields),
      ];
    }
    function example() {
      return `${schema.names.slice(0, 4).join(",")}${schema.names.length > 4 ? ",…" : ""}\n`;
    }
    function cellField(column) {
      const categories = schema.categories[column];
      const given = cells[column];
      const change = (event) => { cells[column] = event.target.value === "" ? null : event.target.value; follow(); };
      if (categories === null) return h("input", { type: "text", inputmode: "decimal", id: `cell-${column}`, value: given === null ? "" : given, placeholder: "missing", oninput: change });
      const names = given !== null && !categories.includes(String(given)) ? [...categories, String(given)] : categories;
      const field = h("select", { id: `cell-${column}`, onchange: change }, h("option", { value: "" }, "missing"), names.map((category) => h("option", { value: category }, category)));
      field.value = given === null ? "" : String(given);
      return field;
    }
    function paste(text) {
      const parsed = R.parseRow(text);
      if (parsed.error) { complain(parsed.error); return; }
      cells = parsed.cells;
      for (const column of schema.names.keys()) document.getElementById(`cell-${column}`)?.replaceWith(cellField(column));
      follow(parsed.notes, true);
    }
    function complain(message) {
      view.lit = null;
      view.draw();
      result.replaceChildren(h("p", { class: "error", role: "alert" }, message));
    }
    function follow(notes = [], go = false) {
      const read = R.readRow(cells);
      if (read.error) { complain(read.error); return; }
      const found = R.walk(tree, read.row);
      view.wanted = true;
      view.lit = found.share;
      view.selected = found.main;
      if (go) view.focusOn(found.share, found.main);
      else {
        for (const end of found.ends) if (end.share > 0.02) view.reveal(end.node);
        view.goTo(found.main);
      }
      announce(found.main);
      whole.dataset.leaf = found.main;
      result.replaceChildren(...rowResult(found, [...notes, ...read.notes]));
    }
    function forget() {
      cells = schema.names.map(() => null);
      view.lit = null;
      view.wanted = false;
      delete whole.dataset.leaf;
      result.replaceChildren();
      view.draw();
    }
    function rowResult(found, notes) {
      const share = R.answerOf(tree, found.ends);
      const speaks = data.trees.speaks;
      const top = speaks === "classes" ? data.classes[share.indexOf(Math.max(...share))] : share.map((each) => show(each, 5)).join(", ");
      const lead = { classes: "This tree predicts ", numbers: "This tree predicts ", adds: "This tree adds " }[speaks];
      const cut = tree.hidden(found.main);
      return [
        h("p", { class: "answer" }, lead, h("b", {}, top), ` at ${cut || !R.isLeaf(tree, found.main) ? "node" : "leaf"} ${found.main}`, found.ends.length > 1 ? `, and ${plural(found.ends.length - 1, "other node")}` : "", "."),
        cut ? h("p", { class: "quiet" }, "The tree continues below that node, but not in this report.") : null,
        trees.length > 1 || data.trees.n_trees > 1 ? h("p", { class: "quiet" }, `One of ${show(data.trees.n_trees)} trees; the model combines them all.`) : null,
        notes.map((note) => h("p", { class: "quiet" }, note)),
        classBars(share, undefined, "Class shares"),
        h("h4", {}, "Path"),
        h("ol", { class: "steps" }, found.steps.slice(0, 60).map((each) => stepLine(each))),
      ].flat().filter(Boolean);
    }
    function stepLine({ node, slot, how, at: surrogate }) {
      const name = R.featureName(tree, node);
      const words = { missing: "is missing: follows the branch for missing values", surrogate: "is missing: a surrogate decides", divided: "is missing: goes down every branch", stay: "is missing: the row stops here" }[how];
      const text = how === "test" ? `${name} ${R.branch(tree, node, slot)}` : `${name} ${words}`;
      const more = how === "surrogate" ? R.surrogateLines(tree, node)[surrogate - tree.surrogateStart[node]] : null;
      return h("li", {}, h("button", { type: "button", onclick: () => view.select(node) }, text), more ? h("span", { class: "quiet" }, more) : null);
    }

    R.explorer = { view, whole, trees, sheet, field, search, step, choose, paste, current: () => tree };
    fillDepths();
    selected(0);
    requestAnimationFrame(() => view.resize());
    return whole;
  }

  R.makeExplorer = explorer;
})();
