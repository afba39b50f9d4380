// SPDX-License-Identifier: Apache-2.0
// page.js - what is shown, and what changes it. Three things follow from each other: the shape of the
// tree (grouping, callers first), the weight of each sample (filters, range of time), and what is seen
// of it (zoom, search).

const id = (name) => document.getElementById(name);

function stored(name, value) {
	try {
		if (value === undefined) return localStorage.getItem('stoker.' + name);
		localStorage.setItem('stoker.' + name, value);
	} catch (e) { /* no storage for files in this browser: nothing is kept */ }
	return null;
}

class Page {
	constructor(profile) {
		this.profile = profile;
		this.diff = profile.sides.length > 1;
		this.callers_first = false;
		this.keys = profile.words.by.map((key) => keys_of(profile.sides[0])[key]);
		this.range = null;
		this.views = [];
		this.pattern = '';
		this.matches = null; // of each function
		this.offsets = profile.sides.map((side, i) => profile.sides.slice(0, i).reduce((n, s) => n + s.len, 0));
		this.samples = profile.sides.reduce((n, side) => n + side.len, 0);
		this.weights = new Float64Array(this.samples);
		this.all = sums_of(profile);
		this.base_node_of = new Int32Array(this.samples);
		profile.sides.forEach((side, i) => this.base_node_of.set(side.node, this.offsets[i]));
		this.colours = { light: [], dark: [] };
		this.flame = new Flame(id('flame'), {
			zoom: (node) => this.zoom(node),
			point: (node, event) => this.point(node, event),
			focus: (node) => this.say_node(node),
		});
		this.table = new Table(id('table-panel'), { pick: (fn) => this.find_function(fn) });
		this.flame.name_of = (node) => this.name_of(node);
		this.flame.colour_of = (node) => this.colour_of(node);
		this.put_facts();
		this.filter = new Filter(profile, this.all);
		this.put_groupings();
		this.put_heat();
		this.listen();
		this.flame.icicle = stored('icicle') === 'true';
		id('icicle').setAttribute('aria-pressed', this.flame.icicle);
		this.use_theme(stored('theme'));
		this.reshape();
		put_kinds(this);
	}

	// ---- words ------------------------------------------------------------------------------

	put_facts() {
		const { sides } = this.profile;
		const title = this.diff ? `${sides[0].name || 'before'} → ${sides[1].name || 'after'}`
			: sides[0].kind === 'cpu' ? 'CPU profile' : sides[0].kind + ' profile';
		id('title').textContent = title;
		document.title = this.diff ? 'Difference: ' + title : title + (sides[0].start_ms ? ', ' + new Date(sides[0].start_ms).toLocaleString() : '');
		const facts = sides.map((side, i) => side_text(side, this.all[i]));
		id('facts').textContent = this.diff ? `${value_text(this.all[0], sides[0].unit)} → ${amount_text(this.all[1], sides[1].unit)}` : facts[0];
		if (this.diff) id('facts').title = id('title').title = `before: ${sides[0].name}, ${facts[0]}\nafter: ${sides[1].name}, ${facts[1]}`;
		for (const name of ['scale-field', 'width-field']) id(name).hidden = !this.diff;
		id('scale').value = this.profile.words.scale;
	}

	function_name(fn) {
		const { texts, functions } = this.profile;
		return texts[functions.text[fn]];
	}

	name_of(node) {
		const fn = this.tree.fn[node], base = this.profile.functions.len;
		return fn < 0 ? 'all' : fn < base ? this.function_name(fn) : this.tree.groups[fn - base];
	}

	colour_of(node) {
		const fn = this.tree.fn[node], { functions } = this.profile, list = this.colours[this.theme];
		if (this.diff) return diff_colour(this.tree.before.total[node], this.tree.after.total[node], this.theme);
		if (fn < 0) return SAME[this.theme];
		if (!list[fn]) list[fn] = frame_colour(fn < functions.len ? functions.kind[fn] : KIND.label, this.name_of(node), this.theme);
		return list[fn];
	}

	// What there is to say of a node, in lines: its name first.
	node_lines(node) {
		const { tree } = this, { functions, texts } = this.profile, fn = tree.fn[node], unit = this.profile.sides[0].unit;
		const lines = [this.name_of(node)];
		if (fn >= 0 && fn < functions.len) {
			const where = [texts[functions.module[fn]], texts[functions.file[fn]], KIND_TEXT[functions.kind[fn]]];
			lines.push(where.filter(Boolean).join(' · '));
		}
		if (this.diff) {
			for (const [what, kind] of [['total', 'total'], ['self', 'self']]) {
				const before = tree.before[kind][node], after = tree.after[kind][node];
				lines.push(`${what}: ${value_text(before, unit)} → ${amount_text(after, unit)} (${change_text(before, after, unit)})`);
			}
			return lines;
		}
		const total = tree.total[node], all = tree.total[0];
		lines.push(`total ${share_text(total, all)}, ${amount_text(total, unit)}` +
			(this.flame.root > 0 ? ` (${share_text(total, tree.total[this.flame.root])} of what is shown)` : ''));
		lines.push(`self ${share_text(tree.self[node], all)}, ${amount_text(tree.self[node], unit)}`);
		return lines;
	}

	say(text) {
		id('live').textContent = text;
	}

	say_node(node) {
		const text = this.node_lines(node).join(', ');
		id('details').textContent = text;
		this.say(`${text}, level ${this.tree.depth[node]}`);
	}

	point(node, event) {
		const tip = id('tip');
		tip.hidden = node < 0;
		if (node < 0) {
			id('details').textContent = '';
			return;
		}
		if (node !== this.pointed || this.pointed_tree !== this.tree) {
			const lines = this.node_lines(node);
			id('details').textContent = lines.join('   ');
			tip.replaceChildren(...lines.map((line, i) => {
				const p = document.createElement(i ? 'p' : 'strong');
				p.textContent = line;
				return p;
			}));
			this.pointed = node;
			this.pointed_tree = this.tree;
		}
		const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
		const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
		tip.style.left = Math.max(8, x) + 'px';
		tip.style.top = (below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 10) + 'px';
	}

	// ---- shape ------------------------------------------------------------------------------

	reshape() {
		this.tree = build_tree(this.profile, this.keys, this.callers_first);
		this.colours = { light: [], dark: [] };
		put_legend(this);
		this.recount(true);
	}

	put_groupings() {
		const first = this.keys.join(',');
		const all = ['', 'comm', 'container', 'container,comm', 'container,comm,pid', 'pod,container,comm', 'comm,pid',
			'comm,tid', 'container,comm,pid,tid', 'image,comm', 'unit,comm', 'cpu,comm'];
		const names = { comm: 'command', pid: 'process', tid: 'thread', cpu: 'CPU' };
		const list = new Set([first, ...all.filter((keys) => !keys || keys.split(',').every((key) => this.filter.known(key)))]);
		id('by').replaceChildren(...[...list].map((keys) => {
			const text = keys ? keys.split(',').map((key) => names[key] || key).join(', ') : 'nothing';
			return new Option(text, keys, false, keys === first);
		}));
		id('by-field').hidden = list.size < 2;
	}

	// ---- weights ----------------------------------------------------------------------------

	weigh() {
		this.profile.sides.forEach((side, s) => {
			const taken = this.filter.taken(side), from = this.offsets[s];
			if (!this.range) {
				for (let i = 0; i < side.len; i++) this.weights[from + i] = taken[side.label[i]] ? side.value[i] : 0;
				return;
			}
			const { time, sample, len } = side.ticks;
			this.weights.fill(0, from, from + side.len);
			for (let i = 0; i < len; i++)
				if (time[i] >= this.range[0] && time[i] < this.range[1] && taken[side.label[sample[i]]]) this.weights[from + sample[i]]++;
		});
	}

	factor() {
		const [before, after] = this.profile.sides, how = id('scale').value;
		const ticks = (side) => side.duration_ns / side.period_ns;
		const factor = how === 'total' ? this.all[1] / this.all[0] : how === 'time' ? ticks(after) / ticks(before) : 1;
		return factor > 0 && isFinite(factor) ? factor : 1;
	}

	// Sums over a tree, or over the profile's own nodes: { self, total } of each side, before scaled.
	sums(tree, node_of) {
		if (!this.diff) return [sum_tree(tree, node_of, this.weights, 0, this.samples)];
		const before = sum_tree(tree, node_of, this.weights, 0, this.offsets[1]), factor = this.factor();
		for (const column of [before.self, before.total]) for (let i = 0; i < column.length; i++) column[i] *= factor;
		return [before, sum_tree(tree, node_of, this.weights, this.offsets[1], this.samples)];
	}

	recount(reshaped) {
		const { tree } = this;
		this.weigh();
		const [one, other] = this.sums(tree, tree.node_of);
		let sums = one;
		if (this.diff) {
			const width = id('width').value;
			tree.before = one;
			tree.after = other;
			const add = (a, b) => a.map((value, i) => value + b[i]);
			sums = width === 'before' ? one : width === 'after' ? other : { self: add(one.self, other.self), total: add(one.total, other.total) };
		}
		tree.self = sums.self;
		tree.total = sums.total;
		lay_tree(tree);
		this.counted = null;
		this.show(reshaped);
	}

	// ---- what is seen -----------------------------------------------------------------------

	show(reshaped) {
		const { tree, flame } = this;
		this.search(this.pattern, true);
		id('empty').hidden = tree.total[0] > 0;
		if (reshaped) flame.show(tree);
		else flame.zoom(tree.total[flame.root] > 0 ? flame.root : 0);
		this.put_buttons();
		if (!id('table-panel').hidden) this.put_table();
		id('flame').setAttribute('aria-label', 'Flame graph of ' + amount_text(tree.total[0], this.profile.sides[0].unit));
	}

	put_buttons() {
		id('back').disabled = this.views.length === 0;
		id('reset').disabled = this.flame.root === 0;
		id('callers').setAttribute('aria-pressed', this.callers_first);
	}

	keep_view() {
		this.views.push({ callers_first: this.callers_first, keys: this.keys, root: this.flame.root });
		if (this.views.length > 200) this.views.shift();
	}

	zoom(node) {
		if (node === this.flame.root) return;
		this.keep_view();
		this.flame.zoom(node);
		this.put_buttons();
		this.say(`Zoomed into ${this.node_lines(node).join(', ')}`);
	}

	back() {
		const view = this.views.pop();
		if (!view) return;
		if (view.callers_first !== this.callers_first || view.keys !== this.keys) {
			this.callers_first = view.callers_first;
			this.keys = view.keys;
			id('by').value = this.keys.join(',');
			this.reshape();
		}
		this.flame.zoom(view.root);
		this.put_buttons();
		this.say('Back: ' + this.name_of(view.root));
	}

	matcher(pattern) {
		try {
			return new RegExp(pattern, /[A-Z]/.test(pattern) ? '' : 'i');
		} catch (e) {
			return new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
		}
	}

	// The share of samples with a match somewhere in their stack: a match above a match counts once.
	search(pattern, quiet) {
		const { tree, flame } = this, out = id('matched'), base = this.profile.functions.len;
		this.pattern = pattern;
		this.matches = null;
		flame.found = null;
		out.textContent = '';
		if (pattern) {
			const re = this.matcher(pattern);
			this.matches = Uint8Array.from({ length: base }, (_, fn) => re.test(this.function_name(fn)));
			const of_group = tree.groups.map((text) => re.test(text)), found = new Uint8Array(tree.len);
			let sum = 0, covered = 0;
			for (let i = 1; i < tree.len; i++) {
				const fn = tree.fn[i];
				if (!(fn < base ? this.matches[fn] : of_group[fn - base])) continue;
				found[i] = 1;
				if (i < covered) continue;
				sum += tree.total[i];
				covered = tree.end[i];
			}
			flame.found = found;
			out.textContent = 'matched ' + share_text(sum, tree.total[0]);
			if (!quiet) this.say(out.textContent);
		}
		if (!quiet) {
			flame.draw();
			if (!id('table-panel').hidden) this.put_table();
		}
	}

	// The matches that are drawn, the widest first.
	next_match(step) {
		const { flame, tree } = this;
		if (!flame.found) return;
		const list = [];
		for (let i = flame.root; i < tree.end[flame.root]; i++)
			if (flame.found[i] && tree.total[i] * flame.scale >= 1) list.push(i);
		if (!list.length) return;
		list.sort((a, b) => tree.total[b] - tree.total[a] || a - b);
		const at = list.indexOf(flame.focused);
		const next = at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length;
		id('flame').focus();
		flame.focus(list[next]);
	}

	find_function(fn) {
		const pattern = '^' + this.function_name(fn).replace(/[.*+?^${}()|[\]\\/]/g, '\\$&') + '$';
		id('search').value = pattern;
		this.show_tab('flame');
		this.search(pattern);
		this.next_match(1);
	}

	// ---- table ------------------------------------------------------------------------------

	function_sums() {
		if (!this.counted) {
			const { nodes } = this.profile;
			this.counted = this.sums(nodes, this.base_node_of).map((sums) => ({
				...sum_functions(this.profile, nodes, sums), all: sums.total[0],
			}));
		}
		return this.counted;
	}

	put_table() {
		const { functions, texts } = this.profile, [one, other] = this.function_sums();
		const last = other || one, rows = [], [{ unit }] = this.profile.sides;
		for (let fn = 0; fn < functions.len; fn++)
			if ((one.total[fn] > 0 || last.total[fn] > 0) && (!this.matches || this.matches[fn])) rows.push(fn);
		const name = { title: 'Function', name: true, get: (fn) => fn, text: (fn) => this.function_name(fn),
			colour: (fn) => (other ? diff_colour(one.total[fn], other.total[fn], this.theme)
				: frame_colour(functions.kind[fn], this.function_name(fn), this.theme)) };
		const module = { title: 'Module', get: (fn) => texts[functions.module[fn]], text: (fn) => texts[functions.module[fn]] };
		const columns = other ? this.diff_columns(one, other) : ['self', 'total'].map((what) => ({
			title: what === 'self' ? 'Self' : 'Total', number: true, get: (fn) => one[what][fn],
			text: (fn) => `${share_text(one[what][fn], one.all)}  ${value_text(one[what][fn], unit)}`,
			bar: (fn) => one[what][fn] / one.all,
		}));
		this.table.show([...columns, name, module], rows);
	}

	diff_columns(one, other) {
		const most = { self: 1, total: 1 }, [{ unit }] = this.profile.sides;
		for (const what of ['self', 'total'])
			for (let fn = 0; fn < one[what].length; fn++) most[what] = Math.max(most[what], Math.abs(other[what][fn] - one[what][fn]));
		return ['self', 'total'].flatMap((what) => [{
			title: what === 'self' ? 'Self, change' : 'Total, change', number: true,
			get: (fn) => other[what][fn] - one[what][fn],
			text: (fn) => change_text(one[what][fn], other[what][fn], unit),
			bar: (fn) => (other[what][fn] - one[what][fn]) / most[what],
			tint: (fn) => SHADES[this.theme][other[what][fn] > one[what][fn] ? 'grew' : 'shrank'][STEPS],
		}, {
			title: what === 'self' ? 'before → after' : 'before → after ', number: true, get: (fn) => other[what][fn],
			text: (fn) => `${value_text(one[what][fn], unit)} → ${value_text(other[what][fn], unit)}`,
		}]);
	}

	show_tab(name) {
		for (const tab of ['flame', 'table']) {
			const button = id('tab-' + tab), on = tab === name;
			button.setAttribute('aria-selected', on);
			button.tabIndex = on ? 0 : -1;
			id(tab + '-panel').hidden = !on;
		}
		if (name === 'table') this.put_table();
		else this.flame.lay_out(false);
	}

	// ---- time -------------------------------------------------------------------------------

	put_heat() {
		const [side] = this.profile.sides;
		if (this.diff || !side.all.ticks.len) return;
		id('heat').hidden = !side.timed;
		this.heat = new Heat(id('map'), side.all.ticks, side.duration_ns, {
			range: (range) => this.set_range(range),
			say: (text, aloud) => {
				id('details').textContent = text;
				if (aloud) this.say(text);
			},
		});
		this.heat.ticks = side.ticks;
		this.heat.count(side, this.filter.taken(side));
		this.put_range();
	}

	put_range() {
		const seconds = (ns) => String(+(ns / SECOND).toFixed(9)), { heat } = this;
		const [from, to] = this.range || [0, heat.end], [{ unit }] = this.profile.sides;
		id('since').value = seconds(from);
		id('until').value = seconds(to);
		id('whole').disabled = !this.range;
		id('heat-text').textContent = this.range ? `${seconds(to - from)} s, ${value_text(this.tree.total[0], unit)} of ${amount_text(this.all[0], unit)}`
			: 'Drag to see a range of time alone';
	}

	set_range(range) {
		this.range = this.heat.range = range;
		if (!range) this.heat.anchor = -1;
		this.heat.draw();
		if (this.counting) return;
		this.counting = true;
		requestAnimationFrame(() => {
			this.counting = false;
			this.recount(false);
			this.put_range();
			this.say(this.range ? id('heat-text').textContent : 'The whole time');
		});
	}

	take_range() {
		const from = Number(id('since').value), to = Number(id('until').value);
		if (from >= 0 && to > from) this.set_range([Math.round(from * SECOND), Math.round(to * SECOND)]);
		else this.put_range();
	}

	set_filter(name, value) {
		this.filter.choose(name, value);
		if (this.heat) {
			this.heat.count(this.profile.sides[0], this.filter.taken(this.profile.sides[0]));
			this.heat.draw();
		}
		this.recount(false);
		if (this.heat) this.put_range();
	}

	// ---- out --------------------------------------------------------------------------------

	save() {
		const link = document.createElement('a'), url = URL.createObjectURL(new Blob([folded_text(this)], { type: 'text/plain' }));
		link.href = url;
		link.download = 'profile.folded';
		link.click();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	}

	use_theme(theme) {
		const dark = matchMedia('(prefers-color-scheme: dark)');
		if (!this.watched) {
			this.watched = true;
			dark.addEventListener('change', () => this.use_theme(stored('theme')));
		}
		this.theme = theme || (dark.matches ? 'dark' : 'light');
		this.flame.theme = this.theme;
		document.documentElement.dataset.theme = this.theme;
		if (this.heat) {
			this.heat.theme = this.theme;
			this.heat.image = null;
			this.heat.draw();
		}
		if (!this.tree) return;
		put_legend(this);
		this.flame.draw();
		if (!id('table-panel').hidden) this.put_table();
	}

	print(on) {
		this.use_theme(on ? 'light' : stored('theme'));
		this.flame.print(on);
	}

	// ---- keys and buttons -------------------------------------------------------------------

	listen() {
		const click = (name, act) => id(name).addEventListener('click', act);
		const change = (name, act) => id(name).addEventListener('change', act);
		click('back', () => this.back());
		click('reset', () => this.zoom(0));
		click('save', () => this.save());
		click('help', () => id('keys').showModal());
		click('keys-close', () => id('keys').close());
		click('callers', () => this.turn_callers());
		click('icicle', () => this.turn_icicle());
		click('theme', () => this.turn_theme());
		click('tab-flame', () => this.show_tab('flame'));
		click('tab-table', () => this.show_tab('table'));
		change('by', () => {
			this.keep_view();
			this.keys = id('by').value ? id('by').value.split(',') : [];
			this.reshape();
		});
		for (const name of ['container', 'process', 'thread']) change(name, () => this.set_filter(name, id(name).value));
		for (const name of ['scale', 'width']) change(name, () => this.recount(false));
		id('search').addEventListener('input', () => this.search(id('search').value));
		id('search').addEventListener('keydown', (event) => {
			if (event.key === 'Enter') this.next_match(event.shiftKey ? -1 : 1);
		});
		click('whole', () => this.set_range(null));
		id('range').addEventListener('submit', (event) => {
			event.preventDefault();
			this.take_range();
		});
		for (const name of ['since', 'until']) change(name, () => this.take_range());
		document.querySelector('[role=tablist]').addEventListener('keydown', (event) => {
			if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
			const to = id('table-panel').hidden ? 'table' : 'flame';
			this.show_tab(to);
			id('tab-' + to).focus();
		});
		addEventListener('keydown', (event) => this.key(event));
		addEventListener('beforeprint', () => this.print(true));
		addEventListener('afterprint', () => this.print(false));
	}

	turn_callers() {
		this.keep_view();
		this.callers_first = !this.callers_first;
		this.reshape();
		this.say(this.callers_first ? 'Each stack begins at its leaf' : 'Each stack begins at its root');
	}

	turn_icicle() {
		this.flame.icicle = !this.flame.icicle;
		stored('icicle', this.flame.icicle);
		id('icicle').setAttribute('aria-pressed', this.flame.icicle);
		this.flame.lay_out(true);
	}

	turn_theme() {
		const theme = this.theme === 'dark' ? 'light' : 'dark';
		stored('theme', theme);
		this.chosen = theme;
		this.use_theme(theme);
	}

	key(event) {
		const find = (event.ctrlKey || event.metaKey) && event.key === 'f';
		if (id('keys').open) return;
		if (find || (event.key === '/' && event.target !== id('search'))) {
			event.preventDefault();
			id('search').focus();
			id('search').select();
			return;
		}
		if (event.target.matches('input:not([type=checkbox]), select') && event.key !== 'Escape') return;
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		const acts = {
			Backspace: () => this.back(), Escape: () => this.escape(), Home: () => this.zoom(0),
			r: () => this.turn_callers(), i: () => this.turn_icicle(), f: () => this.show_tab('flame'), t: () => this.show_tab('table'),
			d: () => turn_idle(this), n: () => this.next_match(1), N: () => this.next_match(-1), '?': () => id('keys').showModal(),
			c: () => navigator.clipboard && navigator.clipboard.writeText(this.name_of(this.flame.focused)),
		};
		if (!acts[event.key]) return;
		event.preventDefault();
		acts[event.key]();
	}

	// The innermost thing that there is to leave.
	escape() {
		if (this.pattern) {
			id('search').value = '';
			this.search('');
		} else this.back();
	}
}

async function start() {
	if (typeof DecompressionStream === 'undefined') throw new Error('this browser cannot unpack gzip; any of 2023 or later can');
	const page = new Page(await read_profile());
	document.documentElement.dataset.ready = Math.round(performance.now());
	return page;
}

window.stoker = start().catch((error) => {
	id('notice').hidden = false;
	id('notice').textContent = 'This profile cannot be shown: ' + error.message;
	throw error;
});
