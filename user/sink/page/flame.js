// SPDX-License-Identifier: Apache-2.0
// flame.js - the flame graph on a canvas that is as large as what is seen of it. Drawing, and finding
// the frame under the pointer, pass over what is narrower than a fraction of a pixel with all that it
// calls, so their cost is that of the boxes on the screen and not of the profile.

const ROW = 18, NARROW = 0.35, CONTEXT = 8 /* rows of callers that stay in sight */, FONT = '11.5px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';

class Flame {
	// on: { zoom(node), point(node or -1, event), focus(node) }
	constructor(element, on) {
		this.element = element;
		this.space = element.querySelector('#space');
		this.canvas = element.querySelector('canvas');
		this.ring = element.querySelector('#ring');
		this.on = on;
		this.tree = null;
		this.root = 0; // what is zoomed into
		this.focused = 0;
		this.icicle = false;
		this.name_of = () => '';
		this.colour_of = () => '#ccc';
		this.found = null; // of each node whether its function matches the search; or null
		this.pending = false;
		element.addEventListener('scroll', () => this.draw_soon());
		element.addEventListener('click', (event) => this.click(event));
		element.addEventListener('mousemove', (event) => on.point(this.node_at(event), event));
		element.addEventListener('mouseleave', (event) => on.point(-1, event));
		element.addEventListener('keydown', (event) => this.key(event));
		element.addEventListener('focus', () => this.draw_soon());
		element.addEventListener('blur', () => this.draw_soon());
		new ResizeObserver(() => this.resize()).observe(element);
	}

	show(tree) {
		this.tree = tree;
		this.root = this.focused = 0;
		this.lay_out(true);
	}

	zoom(node) {
		this.root = this.focused = node;
		this.lay_out(true);
	}

	get scale() {
		const all = this.tree.total[this.root];
		return all > 0 ? this.width / all : 0;
	}

	// How deep it goes where it is wide enough to be drawn, and so how high the graph is.
	lay_out(to_root) {
		const { tree, root } = this;
		if (!tree) return;
		this.width = this.element.clientWidth;
		this.seen = this.element.clientHeight;
		// on paper, what is too narrow to be read would only make the graph higher
		const narrow = this.scale > 0 ? (this.ratio ? 2 : NARROW) / this.scale : Infinity;
		let deep = tree.depth[root];
		for (let i = root; i < tree.end[root];) {
			if (tree.total[i] < narrow && i !== root) {
				i = tree.end[i];
				continue;
			}
			if (tree.depth[i] > deep) deep = tree.depth[i];
			i++;
		}
		this.height = Math.max((deep + 1) * ROW, this.seen);
		this.space.style.height = this.height + 'px';
		if (to_root) {
			const row = tree.depth[root] * ROW;
			this.element.scrollTop = this.icicle ? row - CONTEXT * ROW : this.height - row + CONTEXT * ROW - this.seen;
		}
		this.draw();
	}

	resize() {
		if (this.element.clientWidth !== this.width || this.element.clientHeight !== this.seen)
			this.lay_out(false);
	}

	draw_soon() {
		if (this.pending) return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.draw();
		});
	}

	top_of(depth) {
		return this.icicle ? depth * ROW : this.height - (depth + 1) * ROW;
	}

	// Left edge and width of a node; callers of what is zoomed into are as wide as the graph.
	box_of(node) {
		const { tree, root, width, scale } = this;
		if (node < root || node >= tree.end[root]) return [0, width];
		return [(tree.left[node] - tree.left[root]) * scale, tree.total[node] * scale];
	}

	draw() {
		const { tree, canvas, width, seen } = this;
		if (!tree || !width) return;
		const ratio = this.ratio || devicePixelRatio || 1;
		const w = Math.round(width * ratio), h = Math.round(seen * ratio);
		if (canvas.width !== w || canvas.height !== h) {
			canvas.width = w;
			canvas.height = h;
			canvas.style.width = width + 'px';
			canvas.style.height = seen + 'px';
		}
		const c = this.context = canvas.getContext('2d');
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, width, seen);
		c.font = FONT;
		c.textBaseline = 'middle';
		this.letter = this.letter || c.measureText('mmmmmmmmmm').width / 10;
		this.scrolled = this.element.scrollTop;
		this.alpha = this.colour = null;
		this.names = [];
		this.draw_above();
		this.draw_boxes();
		this.draw_names();
		this.draw_ring();
	}

	draw_above() {
		for (let i = this.root; i > 0;) {
			i = this.tree.parent[i];
			this.draw_box(i, 0, this.width, this.found ? 0.22 : 0.45);
		}
	}

	// Of the boxes that begin in the same pixel of a row, those narrower than one, the first is drawn.
	draw_boxes() {
		const { tree, root, scale } = this, origin = tree.left[root], narrow = NARROW / (scale || 1);
		const rows = [0, 0].map((_, i) => Math.floor((this.scrolled + i * this.seen) / ROW));
		const last = Math.floor(this.height / ROW);
		const [first_depth, last_depth] = this.icicle ? rows : [last - rows[1] - 2, last - rows[0]];
		const stop = tree.end[root], drawn = new Int32Array(Math.max(last_depth, tree.depth[root]) + 2).fill(-1);
		for (let i = root; i < stop;) {
			const total = tree.total[i], depth = tree.depth[i];
			if (depth > last_depth || (total < narrow && i !== root)) {
				i = tree.end[i];
				continue;
			}
			if (depth >= first_depth && (total > 0 || i === 0)) {
				const x = (tree.left[i] - origin) * scale, width = i === 0 && !total ? this.width : total * scale;
				const pixel = Math.floor(x);
				if (width >= 1 || pixel !== drawn[depth]) this.draw_box(i, x, width, 1);
				drawn[depth] = pixel;
			}
			i++;
		}
	}

	draw_box(node, x, width, strength) {
		const c = this.context, y = this.top_of(this.tree.depth[node]) - this.scrolled;
		if (y < -ROW || y > this.seen) return;
		const hit = this.found && this.found[node];
		const pale = this.found && !hit;
		const alpha = pale ? 0.35 * strength : strength;
		if (alpha !== this.alpha) c.globalAlpha = this.alpha = alpha;
		const colour = hit ? MATCH[this.theme] : this.colour_of(node);
		if (colour !== this.colour) c.fillStyle = this.colour = colour;
		c.fillRect(x, y, width > 1.6 ? width - 0.8 : Math.max(width, 0.5), ROW - 1);
		if (width > 3.2 * this.letter) this.names.push([node, x + 4, y + ROW / 2, width - 8, hit ? 2 : pale ? 1 : 0]);
	}

	// Behind all boxes: a change of colour for each name would take longer than the boxes.
	draw_names() {
		const c = this.context, colours = ['#1c1410', this.theme === 'dark' ? '#cfc6bc' : '#3c342e', '#fff'];
		c.globalAlpha = 1;
		for (let how = 0; how < colours.length; how++) {
			c.fillStyle = colours[how];
			for (const [node, x, y, width, its] of this.names) {
				const room = Math.floor(width / this.letter);
				if (its !== how || room < 2) continue;
				const name = this.name_of(node);
				c.fillText(name.length <= room ? name : name.slice(0, room - 1) + '…', x, y);
			}
		}
	}

	draw_ring() {
		const focus = document.activeElement === this.element && this.element.matches(':focus-visible');
		this.ring.hidden = !focus;
		if (!focus) return;
		const [x, width] = this.box_of(this.focused), style = this.ring.style;
		style.left = x - 1 + 'px';
		style.top = this.top_of(this.tree.depth[this.focused]) - 1 + 'px';
		style.width = Math.max(width, 3) + 'px';
		style.height = ROW - 1 + 'px';
	}

	// The frame below a point of the window, or -1.
	node_at(event) {
		const { tree, root } = this, box = this.element.getBoundingClientRect();
		if (!tree || !this.scale) return -1;
		const y = event.clientY - box.top + this.element.scrollTop;
		const depth = Math.floor(this.icicle ? y / ROW : (this.height - y) / ROW);
		if (depth < tree.depth[root]) {
			let node = root;
			while (tree.depth[node] > depth) node = tree.parent[node];
			return depth < 0 ? -1 : node;
		}
		const at = tree.left[root] + (event.clientX - box.left) / this.scale;
		return this.node_below(root, depth, at);
	}

	// From a node up its callees to that depth, at that place.
	node_below(node, depth, at) {
		const { tree } = this;
		while (tree.depth[node] < depth) {
			let next = -1;
			for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
				if (at >= tree.left[i] && at < tree.left[i] + tree.total[i]) {
					next = i;
					break;
				}
			if (next < 0) return -1;
			node = next;
		}
		return node;
	}

	click(event) {
		const node = this.node_at(event);
		if (node < 0 || getSelection().toString()) return;
		this.on.zoom(node);
	}

	// Only nodes that have samples are gone to.
	first_callee(node) {
		const { tree } = this;
		let best = -1;
		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			if (tree.total[i] > 0 && (best < 0 || tree.total[i] > tree.total[best])) best = i;
		return best;
	}

	neighbour(node, step) {
		const { tree } = this, parent = tree.parent[node];
		let before = -1, seen = false;
		if (node === 0) return -1;
		for (let i = parent + 1; i < tree.end[parent]; i = tree.end[i]) {
			if (i === node) {
				if (step < 0) return before;
				seen = true;
			} else if (tree.total[i] > 0) {
				if (seen) return i;
				before = i;
			}
		}
		return -1;
	}

	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey || !this.tree) return;
		const deeper = this.icicle ? 'ArrowDown' : 'ArrowUp', back = this.icicle ? 'ArrowUp' : 'ArrowDown';
		let to = -1;
		if (event.key === deeper) to = this.first_callee(this.focused);
		else if (event.key === back) to = this.focused > 0 ? this.tree.parent[this.focused] : -1;
		else if (event.key === 'ArrowLeft') to = this.neighbour(this.focused, -1);
		else if (event.key === 'ArrowRight') to = this.neighbour(this.focused, 1);
		else if (event.key === 'Enter' || event.key === ' ') this.on.zoom(this.focused);
		else return;
		event.preventDefault();
		if (to >= 0) this.focus(to);
	}

	focus(node) {
		this.focused = node;
		const top = this.top_of(this.tree.depth[node]), { element } = this;
		if (top < element.scrollTop) element.scrollTop = top - ROW;
		else if (top + ROW > element.scrollTop + this.seen) element.scrollTop = top + 2 * ROW - this.seen;
		this.draw();
		this.on.focus(node);
	}

	// All of it at once, for paper.
	print(on) {
		this.ratio = on ? 2 : 0;
		this.element.classList.toggle('printed', on);
		this.lay_out(true);
	}
}
