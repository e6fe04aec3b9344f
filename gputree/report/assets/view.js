// A tree on a canvas: only what is in sight is drawn, and no more of it than can be read.
// Knows trees and geometry; must not know the panel or the tools around it.
(() => {
  const R = gputreeReport;
  const { data, show, percent } = R;
  const WIDTH = 172, HEIGHT = 60, GAP = 20, LEVEL = 128; // of boxes, in pixels at scale 1
  const READABLE = 0.52; // below this scale boxes have no text
  const DOTS = 0.2; // below this one they are only colour
  const MOST_OPEN = 400; // nodes in sight to begin with, if they fit
  const MAX_SCALE = 2.2;
  const MARGIN = 24;

  class TreeView {
    constructor(sheet, tree, tell) {
      this.sheet = sheet;
      this.tell = tell; // {select(node), toggle(node)}
      this.canvas = sheet.querySelector("canvas");
      this.pen = this.canvas.getContext("2d");
      this.scale = 1; this.left = 0; this.top = 0;
      this.widths = new Map();
      this.setTree(tree);
      this.listen();
      new ResizeObserver(() => this.resize()).observe(sheet);
      R.onTheme(() => { this.colours = null; this.widths.clear(); this.draw(); });
    }

    setTree(tree) {
      this.tree = tree;
      this.range = null;
      this.looks = null;
      this.open = new Uint8Array(tree.n);
      this.selected = 0;
      this.lit = null;
      this.found = new Set();
      this.openTo(2);
    }

    openTo(depth) {
      for (let node = 0; node < this.tree.n; node++) this.open[node] = this.tree.depth[node] < depth ? 1 : 0;
      this.layout();
    }
    toggle(node) {
      if (R.isLeaf(this.tree, node)) return;
      this.open[node] = this.open[node] ? 0 : 1;
      this.layoutAround(node);
      this.tell.toggle?.(node);
    }
    // Open what hides a node.
    reveal(node) {
      let changed = false;
      for (let at = this.tree.parent[node]; at >= 0; at = this.tree.parent[at]) {
        if (!this.open[at]) { this.open[at] = 1; changed = true; }
      }
      if (changed) this.layout();
    }

    // Every node stands above the middle of its children, and subtrees as near as they fit:
    // neighbours are compared depth by depth along their outlines.
    layout() {
      const { tree, open } = this;
      const order = this.inSight();
      const outline = new Map(); // node: leftmost and rightmost place at each depth below, itself at 0
      const aside = new Float64Array(tree.n); // how far a child stands from its parent
      for (let at = order.length - 1; at >= 0; at--) {
        const node = order[at];
        if (!open[node] || R.isLeaf(tree, node)) { outline.set(node, { left: [0], right: [0] }); continue; }
        const first = tree.first[node], n = tree.n_children[node];
        const { left, right } = outline.get(first);
        let place = 0;
        for (let child = first + 1; child < first + n; child++) {
          const own = outline.get(child);
          place = -Infinity;
          const shared = Math.min(right.length, own.left.length);
          for (let d = 0; d < shared; d++) place = Math.max(place, right[d] - own.left[d] + WIDTH + GAP);
          for (let d = left.length; d < own.left.length; d++) left.push(own.left[d] + place);
          for (let d = 0; d < own.right.length; d++) right[d] = own.right[d] + place;
          aside[child] = place;
          outline.delete(child);
        }
        const middle = place / 2;
        for (let child = first; child < first + n; child++) aside[child] -= middle;
        outline.delete(first);
        outline.set(node, { left: [0, ...left.map((each) => each - middle)], right: [0, ...right.map((each) => each - middle)] });
      }
      const { left, right } = outline.get(0);
      this.x = new Float64Array(tree.n);
      this.rows = [];
      let leftmost = 0, rightmost = 0;
      for (const each of left) leftmost = Math.min(leftmost, each);
      for (const each of right) rightmost = Math.max(rightmost, each);
      for (const node of order) {
        const above = tree.parent[node];
        this.x[node] = above < 0 ? -leftmost : this.x[above] + aside[node];
        const depth = tree.depth[node];
        (this.rows[depth] || (this.rows[depth] = [])).push(node);
      }
      this.shown = order.length;
      this.extent = { width: rightmost - leftmost + WIDTH, height: (this.rows.length - 1) * LEVEL + HEIGHT };
    }
    // Nodes that no closed node hides, parents first and from left to right.
    inSight() {
      const { tree, open } = this;
      const order = [];
      const stack = [0];
      while (stack.length) {
        const node = stack.pop();
        order.push(node);
        if (!open[node]) continue;
        for (let slot = tree.n_children[node] - 1; slot >= 0; slot--) stack.push(tree.first[node] + slot);
      }
      return order;
    }
    layoutAround(node) {
      const before = this.place(node);
      this.layout();
      const after = this.place(node);
      this.left += before.x - after.x;
      this.draw();
    }

    isShown(node) {
      for (let at = this.tree.parent[node]; at >= 0; at = this.tree.parent[at]) if (!this.open[at]) return false;
      return true;
    }
    // From one level to the next in pixels. Seen from afar, a large tree would be a thin line: its
    // levels then stay as far apart as the sheet allows.
    level(scale = this.scale) {
      if (scale >= DOTS) return LEVEL * scale;
      const whole = Math.min(DOTS * 0.999, (this.width - 2 * MARGIN) / this.extent.width);
      const apart = Math.min(LEVEL * DOTS, (this.height - 3 * MARGIN) / Math.max(1, this.rows.length - 1));
      const near = Math.max(0, Math.min(1, Math.log(scale / whole) / Math.log(DOTS / whole)));
      return Math.max(LEVEL * scale, apart ** (1 - near) * (LEVEL * DOTS) ** near);
    }
    // The middle of a box, in pixels of the sheet.
    place(node) {
      return {
        x: this.left + (this.x[node] + WIDTH / 2) * this.scale,
        y: this.top + this.tree.depth[node] * this.level() + (HEIGHT / 2) * this.scale,
      };
    }

    resize() {
      const { clientWidth: width, clientHeight: height } = this.sheet;
      if (!width || !height) return;
      const fresh = this.width === undefined;
      const ratio = window.devicePixelRatio || 1;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      this.ratio = ratio;
      if (!fresh) { this.left += (width - this.width) / 2; }
      this.width = width; this.height = height;
      if (fresh) this.start(); else this.draw();
    }

    fit() {
      const across = (this.width - 2 * MARGIN) / this.extent.width;
      const down = (this.height - 2 * MARGIN - 14) / this.extent.height;
      // A tree that is only colour from here may be as wide as the sheet: its levels come nearer.
      this.scale = Math.max(1e-5, across < DOTS || down < DOTS ? Math.min(across, DOTS * 0.98) : Math.min(across, down, 1));
      this.left = (this.width - this.extent.width * this.scale) / 2;
      const tall = (this.rows.length - 1) * this.level() + HEIGHT * this.scale;
      this.top = Math.max(MARGIN, (this.height - 14 - tall) / 2.4);
      this.draw();
    }
    // To begin with: as deep as it can be read.
    start() {
      const deepest = Math.max(...this.tree.depth);
      let depth = Math.min(1, deepest);
      this.openTo(depth);
      const fits = () => Math.min((this.width - 48) / this.extent.width, (this.height - 56) / this.extent.height) >= READABLE + (depth < 2 ? 0.02 : 0.14);
      while (depth < deepest && this.shown < MOST_OPEN) {
        this.openTo(depth + 1);
        if (!fits()) { this.openTo(depth); break; }
        depth += 1;
      }
      this.fit();
      if (this.scale < READABLE) this.zoomTo(READABLE + 0.04, 0);
    }
    zoomTo(scale, node) {
      this.scale = scale;
      this.left = this.width / 2 - (this.x[node] + WIDTH / 2) * scale;
      this.top = node === 0 ? 34 : this.height / 2 - this.tree.depth[node] * this.level() - (HEIGHT / 2) * scale;
      this.draw();
    }
    zoom(factor, x = this.width / 2, y = this.height / 2) {
      const floor = Math.min(0.02, (this.width / this.extent.width) * 0.6);
      const scale = Math.min(MAX_SCALE, Math.max(floor, this.scale * factor));
      this.left = x - ((x - this.left) * scale) / this.scale;
      this.top = y - ((y - this.top) * this.level(scale)) / this.level();
      this.scale = scale;
      this.draw();
    }
    pan(dx, dy) { this.left += dx; this.top += dy; this.draw(); }

    // Bring a node into sight, smoothly where that is welcome.
    goTo(node, force = false) {
      this.reveal(node);
      const at = this.place(node);
      const marginX = 110, marginY = 60;
      const inSight = at.x > marginX && at.x < this.width - marginX && at.y > marginY && at.y < this.height - marginY;
      if (inSight && !force && this.scale >= READABLE) { this.draw(); return; }
      const scale = Math.max(this.scale, 0.72);
      const target = {
        scale,
        left: this.width / 2 - (this.x[node] + WIDTH / 2) * scale,
        top: this.height / 2 - this.tree.depth[node] * this.level(scale) - (HEIGHT / 2) * scale,
      };
      if (R.calm()) { Object.assign(this, target); this.draw(); return; }
      const from = { scale: this.scale, left: this.left, top: this.top };
      const begin = performance.now();
      const turn = (this.turn = (this.turn || 0) + 1);
      const step = (now) => {
        if (turn !== this.turn) return;
        const t = Math.min(1, (now - begin) / 220);
        const ease = 1 - (1 - t) ** 3;
        for (const name of ["scale", "left", "top"]) this[name] = from[name] + (target[name] - from[name]) * ease;
        this.draw();
        if (t < 1) requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    }

    // A path and nothing beside it, all of it in sight if it can be read then.
    focusOn(path, end) {
      for (let node = 0; node < this.tree.n; node++) this.open[node] = path.has(node) ? 1 : 0;
      this.layout();
      this.fit();
      if (this.scale < READABLE) { this.scale = READABLE + 0.04; this.goTo(end, true); }
    }

    select(node, options = {}) {
      this.selected = node;
      if (options.go !== false) this.goTo(node, options.force);
      else this.draw();
      this.tell.select?.(node);
    }

    // The node at a place of the sheet, and whether that is its handle.
    hit(x, y) {
      const worldX = (x - this.left) / this.scale;
      const level = this.level();
      const isDots = this.scale < DOTS;
      const depth = isDots ? Math.round((y - this.top) / level) : Math.floor((y - this.top) / level);
      const row = this.rows[depth];
      if (!row) return null;
      const wide = isDots ? 4 / this.scale : 0; // dots are easier to hit than they look
      const at = this.search(row, (node) => this.x[node] + WIDTH + wide >= worldX);
      if (at >= row.length || this.x[row[at]] - wide > worldX) return null;
      const node = row[at];
      const within = (y - this.top - depth * level) / this.scale;
      if (isDots || within <= HEIGHT) return { node, handle: false };
      const isHandle = !R.isLeaf(this.tree, node) && within <= HEIGHT + 22
        && Math.abs(worldX - this.x[node] - WIDTH / 2) < 26;
      return isHandle ? { node, handle: true } : null;
    }
    search(row, isThere) {
      let low = 0, high = row.length;
      while (low < high) { const middle = (low + high) >> 1; if (isThere(row[middle])) high = middle; else low = middle + 1; }
      return low;
    }

    draw() {
      if (this.waiting || !this.width) return;
      this.waiting = true;
      requestAnimationFrame(() => { this.waiting = false; this.paint(); });
    }

    palette() {
      const names = ["ink", "soft", "faint", "line", "card", "wash", "accent", "path", "found", "seq-low", "seq-high", "rule"];
      const found = Object.fromEntries(names.map((name) => [name, R.css(`--${name}`)]));
      found.classes = (data.classes || []).map((_, at) => R.plainColour(R.classColour(at, data.classes.length)));
      found.font = R.css("--sans");
      return found;
    }

    paint() {
      const began = performance.now();
      this.colours = this.colours || this.palette();
      const { pen, scale } = this;
      pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      pen.clearRect(0, 0, this.width, this.height);
      const { boxes, edges } = this.visible();
      if (scale < DOTS) this.paintDots(boxes, edges);
      else {
        pen.translate(this.left, this.top);
        pen.scale(scale, scale);
        this.paintEdges(edges);
        for (const node of boxes) this.paintBox(node, scale >= READABLE);
      }
      this.painted = { boxes: boxes.length, milliseconds: performance.now() - began };
    }

    // Boxes and edges in sight. Along a row, the places of nodes and of their parents both ascend:
    // what is in sight lies together.
    visible() {
      const { tree, scale } = this;
      const left = -this.left / scale - 2, right = (this.width - this.left) / scale + 2;
      const level = this.level();
      const first = Math.max(0, Math.floor(-this.top / level) - 1);
      const last = Math.min(this.rows.length - 1, Math.ceil((this.height - this.top) / level));
      const boxes = [], edges = [];
      for (let depth = first; depth <= last; depth++) {
        const row = this.rows[depth];
        const above = (node) => (depth ? this.x[tree.parent[node]] : this.x[node]);
        const begin = this.search(row, (node) => Math.max(this.x[node], above(node)) + WIDTH >= left);
        const end = this.search(row, (node) => Math.min(this.x[node], above(node)) > right);
        for (let at = begin; at < end; at++) {
          const node = row[at];
          if (depth) edges.push(node);
          if (this.x[node] + WIDTH >= left && this.x[node] <= right) boxes.push(node);
        }
      }
      return { boxes, edges };
    }

    edge(node) {
      const { tree, pen } = this;
      const above = tree.parent[node];
      const fromX = this.x[above] + WIDTH / 2, fromY = tree.depth[above] * LEVEL + HEIGHT;
      const toX = this.x[node] + WIDTH / 2, toY = tree.depth[node] * LEVEL;
      pen.moveTo(fromX, fromY);
      pen.bezierCurveTo(fromX, fromY + 40, toX, toY - 48, toX, toY);
    }
    paintEdges(edges) {
      const { pen, tree, colours, scale } = this;
      const thin = 1.1 / scale;
      pen.lineCap = "round";
      pen.strokeStyle = colours.faint;
      pen.globalAlpha = this.lit ? 0.28 : 0.6;
      // A few widths, each one path: the more of its parent's weight, the wider.
      const widths = [1, 2.2, 4, 6.5];
      const groups = widths.map(() => []);
      for (const node of edges) {
        const share = tree.weight[node] / (tree.weight[0] || 1);
        groups[share > 0.4 ? 3 : share > 0.12 ? 2 : share > 0.03 ? 1 : 0].push(node);
      }
      groups.forEach((group, at) => {
        if (!group.length) return;
        pen.lineWidth = Math.max(widths[at], thin * 0.8);
        pen.beginPath();
        group.forEach((node) => this.edge(node));
        pen.stroke();
      });
      if (this.lit) {
        pen.strokeStyle = colours.path;
        for (const node of edges) {
          const share = this.lit.get(node);
          if (share === undefined || !this.lit.has(tree.parent[node])) continue;
          pen.globalAlpha = 0.35 + 0.65 * share;
          pen.lineWidth = Math.max(3.2, 2.4 / scale);
          pen.beginPath();
          this.edge(node);
          pen.stroke();
        }
      }
      pen.globalAlpha = 1;
      if (scale >= READABLE) for (const node of edges) this.paintEdgeLabel(node);
    }
    paintEdgeLabel(node) {
      const { pen, tree, colours } = this;
      const above = tree.parent[node];
      const text = this.cut(R.shortBranch(tree, above, node - tree.first[above]), WIDTH + GAP - 12, `11.5px ${colours.font}`);
      const x = this.x[node] + WIDTH / 2, y = tree.depth[node] * LEVEL - 15;
      const width = this.measure(text, `11.5px ${colours.font}`) + 10;
      pen.globalAlpha = 0.92;
      pen.fillStyle = colours.card;
      pen.fillRect(x - width / 2, y - 9, width, 17);
      pen.globalAlpha = this.lit && !this.lit.has(node) ? 0.45 : 1;
      pen.fillStyle = this.lit && this.lit.has(node) ? colours.path : colours.soft;
      pen.font = `11.5px ${colours.font}`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(text, x, y);
      pen.globalAlpha = 1;
    }

    // The colour of a node and how strong it is: the surer or the larger the answer.
    colour(node) {
      const { tree, colours } = this;
      this.looks = this.looks || { best: new Int32Array(tree.n).fill(-1), strength: new Float32Array(tree.n) };
      const { best, strength } = this.looks;
      if (best[node] < 0) {
        if (data.trees.speaks === "classes") {
          const found = R.best(tree, node);
          const even = 1 / data.classes.length;
          best[node] = found.at;
          strength[node] = 0.18 + (0.82 * (found.share - even)) / (1 - even || 1);
        } else {
          best[node] = 0;
          strength[node] = 0.1 + 0.9 * this.height01(node);
        }
      }
      const fill = data.trees.speaks === "classes" ? colours.classes[best[node]] : colours["seq-high"];
      return { fill, strength: strength[node] };
    }
    // Where the value of a node lies between the lowest and the highest leaf.
    height01(node) {
      const [low, high] = this.range || (this.range = this.valueRange());
      const value = this.tree.value[node * this.tree.nOutputs];
      return high > low ? Math.max(0, Math.min(1, (value - low) / (high - low))) : 0.5;
    }
    valueRange() {
      const values = [];
      for (let node = 0; node < this.tree.n; node++) if (R.isLeaf(this.tree, node)) values.push(this.tree.value[node * this.tree.nOutputs]);
      values.sort((a, b) => a - b);
      return [values[Math.floor(values.length * 0.02)], values[Math.min(values.length - 1, Math.floor(values.length * 0.98))]];
    }
    // From afar: thin lines and spots of colour, many with one stroke.
    paintDots(boxes, edges) {
      const { pen, tree, colours, scale } = this;
      const level = this.level();
      const width = Math.max(1.6, WIDTH * scale), height = Math.max(2.4, Math.min(HEIGHT * DOTS, level * 0.34));
      const x = (node) => this.left + (this.x[node] + WIDTH / 2) * scale;
      const y = (node) => this.top + tree.depth[node] * level;
      const lines = (nodes, colour, alpha, wide) => {
        pen.globalAlpha = alpha;
        pen.strokeStyle = colour;
        pen.lineWidth = wide;
        pen.beginPath();
        for (const node of nodes) {
          pen.moveTo(x(tree.parent[node]), y(tree.parent[node]) + height);
          pen.lineTo(x(node), y(node));
        }
        pen.stroke();
      };
      lines(edges, colours.faint, this.lit ? 0.22 : 0.45, boxes.length > 2000 ? 0.6 : 0.9);
      const buckets = new Map();
      for (const node of boxes) {
        const { fill, strength } = this.colour(node);
        const key = `${fill}|${Math.round(strength * 4)}`;
        if (!buckets.has(key)) buckets.set(key, []);
        buckets.get(key).push(node);
      }
      const spots = (nodes, wide, tall) => { for (const node of nodes) pen.fillRect(x(node) - wide / 2, y(node) + height / 2 - tall / 2, wide, tall); };
      for (const [key, nodes] of buckets) {
        const [fill, strength] = key.split("|");
        pen.globalAlpha = (this.lit ? 0.3 : 1) * (0.3 + 0.7 * (Number(strength) / 4));
        pen.fillStyle = fill;
        spots(nodes, width, height);
      }
      pen.globalAlpha = 1;
      if (this.found.size) {
        pen.fillStyle = colours.found;
        spots(boxes.filter((node) => this.found.has(node)), Math.max(3, width), Math.max(4, height));
      }
      if (this.lit) {
        const own = edges.filter((node) => this.lit.has(node) && this.lit.has(tree.parent[node]));
        lines(own, colours.path, 1, 2.6);
        pen.fillStyle = colours.path;
        spots(boxes.filter((node) => this.lit.has(node)), Math.max(5, width), Math.max(5, height));
      }
      pen.globalAlpha = 1;
      pen.strokeStyle = colours.accent;
      pen.lineWidth = 2;
      if (this.isShown(this.selected)) pen.strokeRect(x(this.selected) - 6, y(this.selected) + height / 2 - 6, 12, 12);
    }

    paintBox(node, hasText) {
      const { pen, tree, colours } = this;
      const x = this.x[node], y = tree.depth[node] * LEVEL;
      const leaf = R.isLeaf(tree, node);
      const { fill, strength } = this.colour(node);
      pen.globalAlpha = this.lit && !this.lit.has(node) ? 0.38 : 1;
      pen.beginPath();
      pen.roundRect(x, y, WIDTH, HEIGHT, 9);
      pen.fillStyle = colours.card;
      pen.fill();
      if (leaf || !hasText) {
        const before = pen.globalAlpha;
        pen.globalAlpha = before * (hasText ? 0.1 + 0.22 * strength : 0.2 + 0.8 * strength);
        pen.fillStyle = fill;
        pen.fill();
        pen.globalAlpha = before;
      }
      const isLit = this.lit && this.lit.has(node);
      const isSelected = node === this.selected;
      pen.strokeStyle = isSelected ? colours.accent : isLit ? colours.path : this.found.has(node) ? colours.found : leaf ? fill : colours.line;
      pen.lineWidth = isSelected || isLit || this.found.has(node) ? 2.6 : 1.3;
      pen.stroke();
      this.paintBar(node, x + 9, y + HEIGHT - 13, WIDTH - 18, 5, fill);
      if (hasText) this.paintText(node, x, y, leaf);
      if (!leaf) this.paintHandle(node, x + WIDTH / 2, y + HEIGHT, hasText);
      pen.globalAlpha = 1;
    }
    paintBar(node, x, y, width, height, fill) {
      const { pen, tree, colours } = this;
      pen.fillStyle = colours.rule;
      pen.fillRect(x, y, width, height);
      if (data.trees.speaks === "classes") {
        let at = x;
        R.answer(tree, node).forEach((share, which) => {
          pen.fillStyle = colours.classes[which];
          pen.fillRect(at, y, share * width, height);
          at += share * width;
        });
        return;
      }
      pen.fillStyle = fill;
      pen.fillRect(x, y, this.height01(node) * width, height);
    }
    paintText(node, x, y, leaf) {
      const { pen, tree, colours } = this;
      const strong = `600 13px ${colours.font}`;
      const plain = `11.5px ${colours.font}`;
      const speaks = data.trees.speaks;
      const head = !leaf ? R.featureName(tree, node)
        : speaks === "classes" ? data.classes[R.best(tree, node).at] : R.answerText(tree, node);
      const rows = `${show(tree.rows[node])} ${tree.rows[node] === 1 ? "row" : "rows"}`;
      const more = speaks === "classes" ? ` · ${percent(R.best(tree, node).share, 0)}${leaf ? "" : ` ${data.classes[R.best(tree, node).at]}`}`
        : leaf ? "" : ` · ${speaks === "adds" ? "" : "mean "}${R.answerText(tree, node)}`;
      pen.textAlign = "left";
      pen.textBaseline = "alphabetic";
      const number = `#${node}`;
      const first = this.cut(head, WIDTH - 26 - this.measure(number, plain), strong);
      const isLong = this.measure(rows + more, plain) > WIDTH - 20;
      const count = isLong && more ? show(tree.rows[node]) : rows; // the answer tells more than a word
      const second = this.cut(count + more, WIDTH - 20, plain); // measuring changes the font
      pen.fillStyle = colours.ink;
      pen.font = strong;
      pen.fillText(first, x + 10, y + 20);
      pen.font = plain;
      pen.fillStyle = colours.soft;
      pen.fillText(second, x + 10, y + 37);
      pen.fillStyle = colours.faint;
      pen.textAlign = "right";
      pen.fillText(number, x + WIDTH - 10, y + 20);
    }
    paintHandle(node, x, y, hasText) {
      const { pen, colours, tree } = this;
      const text = this.open[node] ? "–" : `+${tree.below[node]}`;
      const font = `600 11px ${colours.font}`;
      const width = this.open[node] ? 18 : Math.max(26, this.measure(text, font) + 14);
      pen.beginPath();
      pen.roundRect(x - width / 2, y - 4, width, 17, 8.5);
      pen.fillStyle = this.open[node] ? colours.card : colours.accent;
      pen.fill();
      pen.strokeStyle = this.open[node] ? colours.line : colours.accent;
      pen.lineWidth = 1.2;
      pen.stroke();
      if (!hasText) return;
      pen.font = font;
      pen.fillStyle = this.open[node] ? colours.soft : colours.card;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(text, x, y + 5);
    }

    measure(text, font) {
      const key = font + text;
      let width = this.widths.get(key);
      if (width === undefined) {
        this.pen.font = font;
        width = this.pen.measureText(text).width;
        this.widths.set(key, width);
      }
      return width;
    }
    cut(text, width, font) {
      if (this.measure(text, font) <= width) return text;
      let low = 0, high = text.length;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (this.measure(`${text.slice(0, middle)}…`, font) <= width) low = middle; else high = middle - 1;
      }
      return `${text.slice(0, low).trimEnd()}…`;
    }

    // Hands: drag, wheel, two fingers, clicks.
    listen() {
      const fingers = new Map();
      let moved = 0;
      const at = (event) => {
        const box = this.sheet.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
      };
      this.sheet.addEventListener("pointerdown", (event) => {
        if (event.button > 0) return;
        this.turn = (this.turn || 0) + 1;
        fingers.set(event.pointerId, at(event));
        this.sheet.setPointerCapture(event.pointerId);
        moved = 0;
      });
      this.sheet.addEventListener("pointermove", (event) => {
        const here = at(event);
        const before = fingers.get(event.pointerId);
        if (!before) { this.sheet.classList.toggle("points", Boolean(this.hit(here.x, here.y))); return; }
        moved += Math.abs(here.x - before.x) + Math.abs(here.y - before.y);
        if (moved > 4) this.sheet.classList.add("drags");
        if (fingers.size === 2) {
          const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
          const distance = (place) => Math.hypot(place.x - other.x, place.y - other.y) || 1;
          this.zoom(distance(here) / distance(before), (here.x + other.x) / 2, (here.y + other.y) / 2);
        } else if (moved > 4) this.pan(here.x - before.x, here.y - before.y);
        fingers.set(event.pointerId, here);
      });
      const release = (event) => {
        const was = fingers.delete(event.pointerId);
        this.sheet.classList.remove("drags");
        if (event.type !== "pointerup" || !was || moved > 4) return;
        const here = at(event);
        const found = this.hit(here.x, here.y);
        if (!found) return;
        if (found.handle) this.toggle(found.node);
        this.select(found.node, { go: false });
      };
      this.sheet.addEventListener("pointerup", release);
      this.sheet.addEventListener("pointercancel", release);
      this.sheet.addEventListener("dblclick", (event) => {
        const here = at(event);
        const found = this.hit(here.x, here.y);
        if (found && !found.handle) this.toggle(found.node);
      });
      this.sheet.addEventListener("wheel", (event) => {
        // A page that scrolls over a tree should go on scrolling.
        const wanted = event.ctrlKey || event.metaKey || document.activeElement === this.sheet || document.fullscreenElement;
        if (!wanted) return;
        event.preventDefault();
        const here = at(event);
        this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016) * (event.ctrlKey ? 4 : 1)), here.x, here.y);
      }, { passive: false });
      window.addEventListener("beforeprint", () => { this.resize(); this.fit(); this.paint(); });
      window.addEventListener("afterprint", () => { this.resize(); this.fit(); });
    }
  }

  R.TreeView = TreeView;
})();
