// Where a row goes in a tree: the rules of gputree.tree.walk, in the same order.
// Knows trees and rows; must not know the page.
(() => {
  const { data } = gputreeReport;
  const schema = data.schema;
  const STAY = -1; // no known way from here
  const LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz";
  const LEAF = 0;
  const MISSING_WORDS = new Set(["", "na", "n/a", "nan", "null", "none", "<na>", "?"]);

  const real = (value) => (value === null ? NaN : Number(value)); // infinities come as text

  // A tree of the data with what follows from it.
  function prepared(raw) {
    const n = raw.kind.length;
    const first = new Int32Array(n).fill(-1);
    const parent = new Int32Array(n).fill(-1);
    const depth = new Int32Array(n);
    let next = 1; // breadth-first: children follow in the order of their parents
    for (let node = 0; node < n; node++) {
      if (!raw.n_children[node]) continue;
      first[node] = next;
      for (let slot = 0; slot < raw.n_children[node]; slot++, next++) {
        parent[next] = node;
        depth[next] = depth[node] + 1;
      }
    }
    const below = new Int32Array(n); // nodes below each node
    for (let node = n - 1; node > 0; node--) below[parent[node]] += below[node] + 1;
    const slots = raw.category_slot;
    // The entry of a category in a list, whose first is that of all it does not name.
    const placeOf = (start, category) => {
      let low = start;
      for (let n = raw.category[start] + 1; n > 1; n -= n >> 1) {
        if (raw.category[low + (n >> 1)] <= category) low += n >> 1;
      }
      return raw.category[low] === category ? low : start;
    };
    const slotAt = (at) => (typeof slots === "string" ? LETTERS.indexOf(slots[at]) : slots[at]);
    const surrogateStart = new Int32Array(n);
    for (let node = 1; node < n && raw.n_surrogates.length; node++) {
      surrogateStart[node] = surrogateStart[node - 1] + raw.n_surrogates[node - 1];
    }
    return {
      ...raw, n, first, parent, depth, below, surrogateStart,
      threshold: Float64Array.from(raw.threshold, real),
      combinations: raw.combinations.map((each) => ({ ...each, categories: null })),
      weight: raw.weight === null ? Float64Array.from(raw.rows) : Float64Array.from(raw.weight, Number),
      categoryStart: (node) => (raw.category_start.length ? raw.category_start[node] : -1),
      categorySlot: (start, category) => slotAt(placeOf(start, category)),
      nSurrogates: (node) => (raw.n_surrogates.length ? raw.n_surrogates[node] : 0),
      nOutputs: raw.value.length / n,
      largest: raw.value.reduce((most, each) => Math.max(most, Math.abs(each)), 0),
      hidden: (node) => (raw.n_hidden.length ? raw.n_hidden[node] : 0),
    };
  }

  // What a node tests: a column of the table, or a combination of columns, numbered -2, -3, ...
  function columnOf(tree, feature) {
    if (feature <= -2) return tree.combinations[-2 - feature];
    return { name: schema.names[feature], categories: schema.categories[feature], has_missing: schema.has_missing[feature] };
  }
  // Added up column by column, as in Python; missing where a value is, or infinities cancel.
  function combined(combination, row) {
    let total = 0;
    for (let at = 0; at < combination.columns.length; at++) {
      const value = row[combination.columns[at]];
      if (value === null) return null;
      const term = value * combination.weights[at];
      total = at ? total + term : term;
    }
    return Number.isNaN(total) ? null : total;
  }

  const isLeaf = (tree, node) => tree.n_children[node] === 0;

  // A cell of a row: a number, the number of a category, or null for missing.
  // An error says what is wrong with the column.
  function readCell(given, column) {
    const categories = schema.categories[column];
    const name = schema.names[column];
    if (given === null || given === undefined) return { value: null };
    const text = String(given).trim();
    if (categories === null) {
      if (typeof given === "boolean") return { value: Number(given) };
      if (MISSING_WORDS.has(text.toLowerCase())) return { value: null };
      const word = text.toLowerCase().replace(/^\+/, "");
      const infinite = { inf: Infinity, "-inf": -Infinity, infinity: Infinity, "-infinity": -Infinity };
      const value = word in infinite ? infinite[word] : Number(text);
      if (Number.isNaN(value)) return { error: `Column “${name}” is numeric, and “${text}” is no number.` };
      return { value };
    }
    const at = categoryOf(categories, given, text);
    if (at >= 0) return { value: at };
    if (MISSING_WORDS.has(text.toLowerCase())) return { value: null };
    if (schema.unknown === "error") {
      return { error: `Column “${name}” has no category “${text}”; the model was told to refuse others.` };
    }
    const note = `“${text}” was not seen at fit`;
    if (schema.unknown === "majority" && schema.kinds[column] === "nominal") {
      return { value: categories.length, note: `${note}: it goes with the majority` };
    }
    return { value: null, note: `${note}: taken as missing` };
  }

  function categoryOf(categories, given, text) {
    let at = categories.indexOf(String(given));
    if (at < 0) at = categories.indexOf(text);
    if (at >= 0 || text === "") return at;
    const number = Number(text); // categories 1, 1.0 and True are equal in Python
    const asNumber = (category) => (category === "True" ? 1 : category === "False" ? 0 : Number(category || NaN));
    if (!Number.isNaN(number)) return categories.findIndex((category) => asNumber(category) === number);
    const lower = text.toLowerCase();
    if (lower === "true" || lower === "false") {
      return categories.findIndex((category) => asNumber(category) === Number(lower === "true"));
    }
    return -1;
  }

  function outcome(tree, row, feature, threshold, lowSlot, start) {
    const value = feature <= -2 ? combined(tree.combinations[-2 - feature], row) : row[feature];
    if (value === null) return STAY;
    if (start >= 0) return tree.categorySlot(start, value);
    return value <= threshold ? lowSlot : 1 - lowSlot;
  }

  const ownTest = (tree, row, node) =>
    outcome(tree, row, tree.feature[node], tree.threshold[node], 0, tree.categoryStart(node));

  function bySurrogates(tree, row, node) {
    const begin = tree.surrogateStart[node];
    const all = tree.surrogates;
    for (let at = begin; at < begin + tree.nSurrogates(node); at++) {
      const slot = outcome(
        tree, row, all.feature[at], real(all.threshold[at]), all.slot[at], all.category_start[at]);
      if (slot !== STAY) return { slot, at };
    }
    return { slot: STAY, at: -1 };
  }

  // How a row leaves a node: {slot, how}, where how is test, surrogate, missing or stay.
  function leave(tree, row, node) {
    let slot = ownTest(tree, row, node);
    if (slot !== STAY) return { slot, how: "test" };
    const found = bySurrogates(tree, row, node);
    if (found.slot !== STAY) return { slot: found.slot, how: "surrogate", at: found.at };
    slot = tree.missing[node];
    return slot === STAY ? { slot, how: "stay" } : { slot, how: "missing" };
  }

  // Where a row ends: nodes with shares, the main one, and all that it passes.
  function walk(tree, row) {
    const steps = [];
    const share = new Map([[0, 1]]);
    let node = 0;
    while (!isLeaf(tree, node)) {
      const step = leave(tree, row, node);
      steps.push({ node, ...step });
      if (step.slot === STAY) break;
      node = tree.first[node] + step.slot;
      share.set(node, 1);
    }
    if (isLeaf(tree, node) || schema.missing !== "fractional") {
      return { ends: [{ node, share: 1 }], main: node, share, steps };
    }
    steps[steps.length - 1].how = "divided";
    const ends = divided(tree, row, node, share, steps);
    let main = ends[0];
    for (const end of ends) if (end.share > main.share) main = end;
    return { ends, main: main.node, share, steps };
  }

  // Down every branch where the value is missing, as much as the branch has of the weight.
  function divided(tree, row, from, share, steps) {
    const ends = [];
    let active = [{ node: from, share: 1 }];
    let tests = false; // the first node has been asked already
    while (active.length) {
      const known = [];
      const branches = [];
      for (const each of active) {
        if (isLeaf(tree, each.node)) { ends.push(each); continue; }
        const slot = tests ? ownTest(tree, row, each.node) : STAY;
        if (slot !== STAY) {
          known.push({ node: tree.first[each.node] + slot, share: each.share });
          steps.push({ node: each.node, slot, how: "test" });
          continue;
        }
        if (tests) steps.push({ node: each.node, slot, how: "divided" });
        let total = 0;
        const begin = tree.first[each.node];
        const end = begin + tree.n_children[each.node];
        for (let child = begin; child < end; child++) total += tree.weight[child];
        for (let child = begin; child < end; child++) {
          if (tree.weight[child] > 0) {
            branches.push({ node: child, share: each.share * (tree.weight[child] / total) });
          }
        }
      }
      active = known.concat(branches);
      for (const each of active) share.set(each.node, (share.get(each.node) || 0) + each.share);
      tests = true;
    }
    return ends.length ? ends : [{ node: from, share: 1 }];
  }

  // What nodes answer: shares of classes, or numbers.
  function answer(tree, node) {
    const value = tree.value.slice(node * tree.nOutputs, (node + 1) * tree.nOutputs);
    if (data.trees.speaks !== "classes") return value;
    const total = value.reduce((sum, each) => sum + each, 0);
    return value.map((each) => (total > 0 ? each / total : 1 / value.length));
  }
  function answerOf(tree, ends) {
    const mean = new Array(tree.nOutputs).fill(0);
    for (const end of ends) answer(tree, end.node).forEach((each, at) => { mean[at] += end.share * each; });
    return mean;
  }

  // A pasted text as rows of cells: JSON, or CSV with or without names. Only the first row counts.
  function parseRow(text) {
    const trimmed = text.trim();
    if (!trimmed) return { error: "Paste a row first: CSV with or without column names, or JSON." };
    if (trimmed[0] === "{" || trimmed[0] === "[") return fromJSON(trimmed);
    return fromCSV(trimmed);
  }
  function fromJSON(text) {
    let found;
    try { found = JSON.parse(text.replace(/\bNaN\b/g, "null")); } catch (problem) {
      return { error: `This is not JSON: ${problem.message}` };
    }
    if (Array.isArray(found) && found.length && typeof found[0] === "object" && found[0] !== null) found = found[0];
    if (Array.isArray(found)) return byPosition(found);
    // pandas writes a table of one row as {column: {row: value}}.
    const entries = Object.entries(found).map(([name, value]) => [
      name, value !== null && typeof value === "object" ? Object.values(value)[0] : value]);
    return byName(entries.map(([name]) => name), entries.map(([, value]) => value));
  }
  function fromCSV(text) {
    const firstLine = text.split(/\r?\n/, 1)[0];
    const separator = firstLine.includes("\t") ? "\t" : firstLine.includes(";") ? ";" : ",";
    const lines = csvLines(text, separator);
    const isHead = lines.length > 1 || lines[0].filter((name) => schema.names.includes(name)).length * 2 > lines[0].length;
    if (isHead && lines.length < 2) return { error: "There are column names, but no row below them." };
    return isHead ? byName(lines[0], lines[1]) : byPosition(lines[0]);
  }
  function csvLines(text, separator) {
    const lines = [[]];
    let cell = "";
    let quoted = false;
    for (let at = 0; at < text.length; at++) {
      const sign = text[at];
      if (quoted) {
        if (sign === '"' && text[at + 1] === '"') { cell += '"'; at++; }
        else if (sign === '"') quoted = false;
        else cell += sign;
      } else if (sign === '"' && cell.trim() === "") { quoted = true; cell = ""; }
      else if (sign === separator) { lines[lines.length - 1].push(cell); cell = ""; }
      else if (sign === "\n") { lines[lines.length - 1].push(cell); cell = ""; lines.push([]); }
      else if (sign !== "\r") cell += sign;
    }
    lines[lines.length - 1].push(cell);
    return lines.map((line) => line.map((each) => each.trim())).filter((line) => line.length > 1 || line[0] !== "");
  }
  function byPosition(cells) {
    const n = schema.names.length;
    if (cells.length !== n) {
      return { error: `${cells.length} values were given, and the model has ${n} columns; add a line with column names, or give one value a column.` };
    }
    return { cells, notes: [] };
  }
  function byName(names, values) {
    const cells = new Array(schema.names.length).fill(null);
    const place = new Map(schema.names.map((name, at) => [name, at]));
    const notes = [];
    let n = 0;
    names.forEach((name, at) => {
      if (!place.has(name)) { if (name !== "") notes.push(`“${name}” is not a column of the model.`); return; }
      cells[place.get(name)] = at < values.length ? values[at] : null;
      n++;
    });
    if (!n) return { error: "No name matches a column of the model." };
    if (n < cells.length) notes.push(`${cells.length - n} columns were not given: they are taken as missing.`);
    return { cells, notes };
  }

  // Cells as the model reads them: {row, notes} or {error}.
  function readRow(cells) {
    const notes = [];
    const errors = [];
    const row = cells.map((cell, column) => {
      const found = readCell(cell, column);
      if (found.error) errors.push(found.error);
      if (found.note) notes.push(`${schema.names[column]}: ${found.note}.`);
      return found.value;
    });
    return errors.length ? { error: errors.join("\n") } : { row, notes };
  }

  Object.assign(gputreeReport, {
    prepared, columnOf, isLeaf, walk, leave, answer, answerOf, readCell, readRow, parseRow, LEAF, STAY,
  });
})();
