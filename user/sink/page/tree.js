// SPDX-License-Identifier: Apache-2.0
// tree.js - trees over the samples: from the root or from the leaf, below labels or not; and what is
// counted in them. Shape and counts are apart: a filter or a range of time changes counts alone.
//
// A tree has, for each node: fn (a function, or functions.len + a group's frame), parent, depth, end
// (the node behind all that it calls). A node stands before its callees, so one way back sums up, and
// what is too narrow to be seen is passed over by going to its end.

class Grower {
	constructor(room) {
		this.len = 0;
		this.fn = new Int32Array(room);
		this.parent = new Int32Array(room);
		this.depth = new Uint16Array(room);
		this.add(-1, 0, 0);
	}

	add(fn, parent, depth) {
		if (this.len === this.fn.length) {
			for (const name of ['fn', 'parent', 'depth']) {
				const more = new this[name].constructor(2 * this.len);
				more.set(this[name]);
				this[name] = more;
			}
		}
		this.fn[this.len] = fn;
		this.parent[this.len] = parent;
		this.depth[this.len] = depth;
		return this.len++;
	}
}

// The labels that stacks are put below: groups of samples with the same texts, in their order.
function group_labels(profile, keys) {
	const frames = [], frame_of = new Map(), groups = [], group_of = new Map();
	const frame = (text) => {
		if (!frame_of.has(text)) {
			frame_of.set(text, frames.length);
			frames.push(text);
		}
		return frame_of.get(text);
	};
	const of_label = profile.sides.map((side) => {
		const column = new Int32Array(side.labels_len);
		for (let i = 0; i < column.length; i++) {
			const texts = keys.map((key) => profile.texts[side.labels[key][i]]);
			const name = texts.join('\n');
			if (!group_of.has(name)) {
				group_of.set(name, groups.length);
				groups.push({ texts, path: texts.map(frame) });
			}
			column[i] = group_of.get(name);
		}
		return column;
	});
	const order = groups.map((group, i) => i);
	const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
	order.sort((a, b) => {
		for (let i = 0; i < keys.length; i++) {
			const one = compare(groups[a].texts[i], groups[b].texts[i]);
			if (one) return one;
		}
		return 0;
	});
	const rank = new Int32Array(groups.length);
	order.forEach((group, i) => { rank[group] = i; });
	for (const column of of_label) for (let i = 0; i < column.length; i++) column[i] = rank[column[i]];
	return { frames, paths: order.map((group) => groups[group].path), of_label };
}

// Each different pair of a group and a node that samples end in, once, in order; and of each sample
// which pair is its.
function list_entries(profile, groups) {
	const nodes_len = profile.nodes.len;
	let samples = 0;
	for (const side of profile.sides) samples += side.len;
	const keys = new Float64Array(samples);
	let at = 0;
	for (const [s, side] of profile.sides.entries())
		for (let i = 0; i < side.len; i++)
			keys[at++] = groups.of_label[s][side.label[i]] * nodes_len + side.node[i];
	const sorted = keys.slice().sort();
	let len = 0;
	for (let i = 0; i < sorted.length; i++)
		if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[len++] = sorted[i];
	const group = new Int32Array(len), node = new Int32Array(len);
	for (let i = 0; i < len; i++) {
		group[i] = Math.floor(sorted[i] / nodes_len);
		node[i] = sorted[i] - group[i] * nodes_len;
	}
	const find = (key) => {
		let low = 0, high = len - 1;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (sorted[middle] < key) low = middle + 1;
			else high = middle;
		}
		return low;
	};
	const of_sample = new Int32Array(samples);
	for (let i = 0; i < samples; i++) of_sample[i] = find(keys[i]);
	return { len, group, node, of_sample };
}

// Root first. Entries of a group come in the order of the profile's own tree, so of an entry's path
// those nodes are new that stand behind the entry before it.
function grow_down(profile, groups, entries, grower, leaves) {
	const { fn, parent, depth } = profile.nodes, base = profile.functions.len;
	const made = new Int32Array(profile.nodes.len);
	const added = new Int32Array(65536);
	let open = [0], last = -1;
	for (let i = 0; i < entries.len; i++) {
		const group = entries.group[i];
		if (i === 0 || group !== entries.group[i - 1]) {
			const path = groups.paths[group];
			let same = 0;
			while (same < path.length && same + 1 < open.length &&
				grower.fn[open[same + 1]] === base + path[same]) same++;
			open.length = same + 1;
			for (let k = same; k < path.length; k++)
				open.push(grower.add(base + path[k], open[k], k + 1));
			made[0] = open[open.length - 1];
			last = 0;
		}
		let count = 0, node = entries.node[i];
		for (; node > last; node = parent[node]) added[count++] = node;
		while (count > 0) {
			node = added[--count];
			made[node] = grower.add(fn[node], made[parent[node]], depth[node] + open.length - 1);
		}
		last = Math.max(last, entries.node[i]);
		leaves[i] = made[entries.node[i]];
	}
}

// Leaf first: entries are sorted by their paths from the leaf; the group's frames come last.
function grow_up(profile, groups, entries, grower, leaves) {
	const { fn, parent } = profile.nodes, base = profile.functions.len;
	const order = new Uint32Array(entries.len);
	for (let i = 0; i < order.length; i++) order[i] = i;
	order.sort((x, y) => {
		let a = entries.node[x], b = entries.node[y];
		while (a !== b) {
			if (a === 0) return 1;
			if (b === 0) return -1;
			if (fn[a] !== fn[b]) return fn[a] - fn[b];
			a = parent[a];
			b = parent[b];
		}
		return entries.group[x] - entries.group[y];
	});
	const path = new Int32Array(65536), open = new Int32Array(65536);
	let depth = 0;
	for (const i of order) {
		let len = 0, same = 0;
		for (let node = entries.node[i]; node > 0; node = parent[node]) path[len++] = fn[node];
		const labels = groups.paths[entries.group[i]];
		for (let k = labels.length; k-- > 0;) path[len++] = base + labels[k];
		while (same < len && same < depth && grower.fn[open[same]] === path[same]) same++;
		for (; same < len; same++)
			open[same] = grower.add(path[same], same > 0 ? open[same - 1] : 0, same + 1);
		depth = len;
		leaves[i] = len > 0 ? open[len - 1] : 0;
	}
}

function build_tree(profile, keys, callers_first) {
	const groups = group_labels(profile, keys);
	const entries = list_entries(profile, groups);
	const grower = new Grower(profile.nodes.len + 1024);
	const leaves = new Int32Array(entries.len);
	(callers_first ? grow_up : grow_down)(profile, groups, entries, grower, leaves);
	const len = grower.len, depth = grower.depth.subarray(0, len);
	const node_of = new Int32Array(entries.of_sample.length);
	for (let i = 0; i < node_of.length; i++) node_of[i] = leaves[entries.of_sample[i]];
	const end = new Int32Array(len).fill(len), open = [];
	for (let i = 0; i < len; i++) {
		while (open.length > depth[i]) end[open.pop()] = i;
		open[depth[i]] = i;
	}
	let depth_max = 0;
	for (let i = 0; i < len; i++) if (depth[i] > depth_max) depth_max = depth[i];
	return {
		len, fn: grower.fn.subarray(0, len), parent: grower.parent.subarray(0, len), depth, end,
		depth_max, groups: groups.frames, node_of,
		self: null, total: null, left: null, before: null, after: null,
	};
}

// Sums up what weighs on each node. weights: of each sample, the sides behind each other.
function sum_tree(tree, node_of, weights, from, to) {
	const self = new Float64Array(tree.len);
	for (let i = from; i < to; i++) self[node_of[i]] += weights[i];
	const total = self.slice();
	for (let i = tree.len - 1; i > 0; i--) total[tree.parent[i]] += total[i];
	return { self, total };
}

function lay_tree(tree) {
	const left = new Float64Array(tree.len), next = new Float64Array(tree.len);
	for (let i = 1; i < tree.len; i++) {
		const parent = tree.parent[i];
		left[i] = next[i] = next[parent];
		next[parent] += tree.total[i];
	}
	tree.left = left;
}

// Self and total of each function; a function that calls itself counts once a stack.
function sum_functions(profile, nodes, sums) {
	const self = new Float64Array(profile.functions.len), total = new Float64Array(self.length);
	const on_path = new Uint16Array(self.length), open = [];
	for (let i = 1; i < nodes.len; i++) {
		while (open.length >= nodes.depth[i]) on_path[open.pop()]--;
		const fn = nodes.fn[i];
		self[fn] += sums.self[i];
		if (on_path[fn]++ === 0) total[fn] += sums.total[i];
		open.push(fn);
	}
	return { self, total };
}
