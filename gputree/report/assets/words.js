// What nodes and branches say, as gputree.tree.describe says it, and whole paths as sentences.
(() => {
  const R = gputreeReport;
  const { data, show, percent } = R;
  const schema = data.schema;
  const MULTIWAY = 3;
  const MOST_NAMED = 8;

  const threshold = (value) => show(value, 6);
  function listed(items, most = MOST_NAMED) {
    if (items.length <= most) return items.join(", ");
    return `${items.slice(0, most).join(", ")}, … ${items.length - most} more`;
  }

  // The categories of the tested column that go to a child, and whether some are known to no child.
  function categoriesTo(tree, node, slot) {
    const categories = R.columnOf(tree, tree.feature[node]).categories || [];
    const start = tree.categoryStart(node);
    const chosen = [];
    let unseen = false;
    categories.forEach((category, at) => {
      const to = start >= 0 ? tree.categorySlot(start, at) : (at <= tree.threshold[node] ? 0 : 1);
      if (to === slot) chosen.push(category);
      if (to === R.STAY) unseen = true;
    });
    return { chosen, unseen };
  }

  // A branch as parts that can be put together with others of the same column.
  function condition(tree, node, slot) {
    const feature = tree.feature[node];
    const column = R.columnOf(tree, feature);
    const { categories } = column;
    const { chosen, unseen } = categoriesTo(tree, node, slot);
    const takesRest = slot === tree.missing[node] && !tree.nSurrogates(node);
    const found = { feature, column, low: -Infinity, high: Infinity, categories: null, only: null };
    found.other = takesRest && unseen;
    found.missing = takesRest && Boolean(column.has_missing);
    if (tree.threshold[node] === Infinity) found.only = slot === 0 ? "known" : "missing";
    else if (categories === null) {
      if (slot === 0) found.high = tree.threshold[node];
      else found.low = tree.threshold[node];
    } else if (!chosen.length && takesRest && tree.categoryStart(node) >= 0) found.only = "missing";
    else found.categories = chosen;
    found.single = tree.kind[node] === MULTIWAY && chosen.length === 1;
    return found;
  }

  // The branch in signs, for edges and searches.
  function branch(tree, node, slot, most = MOST_NAMED) {
    const found = condition(tree, node, slot);
    let words;
    if (found.only) words = `is ${found.only}`;
    else if (found.categories) words = found.single ? `= ${found.categories[0]}` : `in {${listed(found.categories, most)}}`;
    else if (found.low > -Infinity) words = `> ${threshold(found.low)}`;
    else words = `≤ ${threshold(found.high)}`;
    if (found.other) words += " or other";
    if (found.missing && !found.only) words += " or missing";
    return words;
  }
  // The same, short: the full list is a click away.
  function shortBranch(tree, node, slot) {
    const found = condition(tree, node, slot);
    if (!found.categories || found.single) return branch(tree, node, slot);
    return found.categories.length === 1 ? `= ${found.categories[0]}` : branch(tree, node, slot, 3).replace(/^in \{(.*?)\}/, "$1");
  }

  const featureName = (tree, node) => R.columnOf(tree, tree.feature[node]).name;
  function question(tree, node) {
    if (R.columnOf(tree, tree.feature[node]).categories === null && tree.threshold[node] < Infinity) {
      return `${featureName(tree, node)} ≤ ${threshold(tree.threshold[node])}`;
    }
    return featureName(tree, node);
  }

  function best(tree, node) {
    const share = R.answer(tree, node);
    let at = 0;
    share.forEach((each, i) => { if (each > share[at]) at = i; });
    return { at, share: share[at] };
  }
  // The answer in a line.
  function answerText(tree, node) {
    if (data.trees.speaks === "classes") {
      const { at, share } = best(tree, node);
      return `${data.classes[at]}, ${percent(share)}`;
    }
    // Sums that cancel leave dust beside what the leaves say.
    const value = R.answer(tree, node).map((each) => show(Math.abs(each) < 1e-7 * tree.largest ? 0 : each, 4));
    return data.trees.speaks === "adds" ? `adds ${value.join(", ")}` : value.join(", ");
  }

  // All conditions on the way to a node, column by column, in the order of their first test.
  function conditions(tree, node) {
    const steps = [];
    for (let at = node; tree.parent[at] >= 0; at = tree.parent[at]) {
      steps.unshift(condition(tree, tree.parent[at], at - tree.first[tree.parent[at]]));
    }
    const byColumn = new Map();
    for (const step of steps) {
      const old = byColumn.get(step.feature);
      if (!old) { byColumn.set(step.feature, { ...step }); continue; }
      old.low = Math.max(old.low, step.low);
      old.high = Math.min(old.high, step.high);
      if (step.categories) old.categories = old.categories ? old.categories.filter((category) => step.categories.includes(category)) : step.categories;
      if (step.only === "missing" || !old.only) old.only = step.only || old.only;
      old.missing = old.missing && step.missing;
      old.other = old.other && step.other;
    }
    return [...byColumn.values()];
  }

  function clause(found) {
    const { name } = found.column;
    const or = found.missing && found.only !== "missing" ? " or missing" : "";
    const other = found.other ? " or another category" : "";
    if (found.only === "missing") return [name, "is missing"];
    if (found.categories) {
      const all = found.column.categories;
      const rest = all.filter((category) => !found.categories.includes(category));
      if (rest.length && rest.length <= 3 && found.categories.length > 4 && !found.other) {
        return [name, `is anything but ${listed(rest)}${or}`];
      }
      const many = found.categories.length > 1 ? `is one of ${listed(found.categories)}` : `is ${found.categories[0] ?? "a category without rows"}`;
      return [name, many + other + or];
    }
    const { low, high } = found;
    if (low > -Infinity && high < Infinity) {
      return [name, `is above ${threshold(low)} and at most ${threshold(high)}${or}`];
    }
    if (low > -Infinity) return [name, `is above ${threshold(low)}${or}`];
    if (high < Infinity) return [name, `is at most ${threshold(high)}${or}`];
    return [name, found.only === "known" ? "is known" : "is anything"];
  }

  // The path to a node as a sentence: a list of [text, is bold].
  function sentence(tree, node) {
    const parts = [];
    const clauses = conditions(tree, node).map(clause);
    if (!clauses.length) parts.push(["For every row", false]);
    clauses.forEach(([name, words], at) => {
      const lead = at === 0 ? "If " : at === clauses.length - 1 ? " and " : ", ";
      parts.push([lead, false], [name, true], [` ${words}`, false]);
    });
    parts.push([clauses.length ? ", then " : ", ", false]);
    const noun = { classes: "the prediction is ", numbers: "the mean is ", adds: "the tree " }[data.trees.speaks];
    parts.push([noun, false], [answerText(tree, node), true], [".", false]);
    return parts;
  }
  const sentenceText = (tree, node) => sentence(tree, node).map(([text]) => text).join("");

  function surrogateLines(tree, node) {
    const begin = tree.surrogateStart[node];
    const all = tree.surrogates;
    const lines = [];
    for (let at = begin; at < begin + tree.nSurrogates(node); at++) {
      const feature = all.feature[at];
      const categories = schema.categories[feature];
      const limit = all.threshold[at] === null ? NaN : Number(all.threshold[at]);
      const goes = (category) => (all.category_start[at] >= 0
        ? tree.categorySlot(all.category_start[at], category) : (category <= limit ? all.slot[at] : 1 - all.slot[at]));
      const words = categories === null
        ? `${all.slot[at] === 0 ? "≤" : ">"} ${threshold(limit)}`
        : `in {${listed(categories.filter((_, category) => goes(category) === 0))}}`;
      lines.push(`${schema.names[feature]} ${words} goes left (agreement ${percent(all.agreement[at])})`);
    }
    return lines;
  }

  // Where rows go whose tested value is missing.
  function missingText(tree, node) {
    const slot = tree.missing[node];
    const to = slot === R.STAY ? "" : `to node ${tree.first[node] + slot}`;
    if (tree.nSurrogates(node)) return `by ${R.plural(tree.nSurrogates(node), "surrogate")}, otherwise ${to || "the row stops here"}`;
    if (slot === R.STAY) return schema.missing === "fractional" ? "down every branch, by weight" : "the row stops here";
    return to;
  }

  // All that a search looks at, in small letters.
  function searchText(tree, node) {
    const parts = [`node ${node}`, `#${node}`];
    if (!R.isLeaf(tree, node)) parts.push(featureName(tree, node), "split");
    else parts.push("leaf", answerText(tree, node));
    const above = tree.parent[node];
    if (above >= 0) {
      const slot = node - tree.first[above];
      const words = branch(tree, above, slot, 60);
      parts.push(`${featureName(tree, above)} ${words}`, `${featureName(tree, above)} ${words.replace("≤", "<=").replace("−", "-")}`);
    }
    return parts.join("\n").toLowerCase();
  }

  Object.assign(R, {
    branch, shortBranch, question, featureName, best, answerText, sentence, sentenceText,
    surrogateLines, missingText, searchText,
  });
})();
