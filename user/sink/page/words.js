// SPDX-License-Identifier: Apache-2.0
// words.js - numbers as people read them, and what is shown as folded stacks.

const UNKNOWN = '?'; // a label that is not known
const count_text = (n) => Math.round(n).toLocaleString('en');
const TIMES = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns'], [0, 's']];

function time_text(ns) {
	const [size, unit] = TIMES.find(([least]) => ns >= least), n = size ? ns / size : 0;
	return (n < 1000 ? n.toLocaleString('en', { maximumSignificantDigits: 4 }) : count_text(n)) + ' ' + unit;
}

// A value may count parts of its unit: nanoseconds/10.
function nanoseconds(n, unit) {
	const parts = /^nanoseconds(?:\/(\d+))?$/.exec(unit);
	return parts ? n / (parts[1] || 1) : null;
}

// Times with their unit, all else as a number alone.
function value_text(n, unit) {
	const ns = nanoseconds(n, unit);
	return ns === null ? count_text(n) : time_text(ns);
}

function amount_text(n, unit) {
	return value_text(n, unit) + (nanoseconds(n, unit) === null ? ' ' + unit : '');
}

function side_text(side, all) {
	const parts = [amount_text(all, side.unit)];
	if (nanoseconds(all, side.unit) !== null) parts[0] += ' of ' + side.kind;
	if (side.period_ns) parts.push(`${+(1e9 / side.period_ns).toPrecision(4)} Hz`);
	if (side.duration_ns) parts.push(`in ${(side.duration_ns / 1e9).toFixed(1)} s`);
	if (side.start_ms) parts.push(new Date(side.start_ms).toLocaleString());
	if (side.ticks_dropped) parts.push(`the times of ${count_text(side.ticks_dropped)} were not kept`);
	if (side.guessed) parts.push(side.guessed);
	return parts.join(' · ');
}

function share_text(part, of) {
	return of > 0 ? (100 * part / of).toFixed(part / of < 0.1 ? 2 : 1) + ' %' : '0 %';
}

function change_text(before, after, unit) {
	const change = Math.round(after) - Math.round(before), sign = change > 0 ? '+' : change < 0 ? '−' : '±';
	const part = before > 0 ? `, ${sign}${Math.abs(100 * (after / before - 1)).toFixed(0)} %` : '';
	return `${sign}${value_text(Math.abs(change), unit)}${after > 0 || before > 0 ? part : ''}`;
}

const folded_word = (text) => text.replace(/[ ;]/g, '_');

// The line without which readers of folded stacks take counts for CPU samples.
function kind_line(sides) {
	const { kinds, kind, unit, period_ns } = sides[sides.length - 1], base = unit.replace(/\/\d+$/, '');
	const samples = (side) => side.unit.startsWith('samples');
	if (sides.length > 1 ? sides.every(samples) : base === 'samples' && !kinds) return '';
	const shown = base === 'nanoseconds' ? 'microseconds' : folded_word(base);
	return `# stoker kind: ${folded_word(kind)} ${shown} ${period_ns} 0\n`;
}

// Nanoseconds become microseconds; each line hands what it has below one to the next.
function in_microseconds(lines, s, parts) {
	let rest = 0;
	for (const [, counts] of lines) {
		if (!counts[s]) continue;
		rest += counts[s];
		counts[s] = Math.floor(rest / (1000 * parts));
		rest -= counts[s] * 1000 * parts;
	}
}

// What is shown as folded stacks, as `stoker convert` writes them.
function folded_text(page) {
	const { nodes, functions, texts, sides } = page.profile, lines = new Map();
	const clean = (text) => text.replaceAll(';', ':') || UNKNOWN;
	const names = Array.from({ length: functions.len }, (_, fn) => clean(texts[functions.text[fn]]) + SUFFIX[functions.kind[fn]]);
	sides.forEach((side, s) => {
		for (let i = 0; i < side.len; i++) {
			const count = page.weights[page.offsets[s] + i], path = [];
			if (!count) continue;
			for (let node = side.node[i]; node > 0; node = nodes.parent[node]) path.push(names[nodes.fn[node]]);
			for (let k = page.keys.length; k-- > 0;) path.push(clean(page.filter.label(side, page.keys[k], side.label[i])));
			const line = (path.reverse().join(';') || UNKNOWN).replace(/^#/, UNKNOWN);
			if (!lines.has(line)) lines.set(line, sides.map(() => 0));
			lines.get(line)[s] += count;
		}
	});
	const sorted = [...lines].sort((a, b) => (a[0] < b[0] ? -1 : 1));
	sides.forEach((side, s) => {
		const parts = /^nanoseconds(?:\/(\d+))?$/.exec(side.unit);
		if (parts) in_microseconds(sorted, s, Number(parts[1] || 1));
	});
	const whole = sorted.filter(([, counts]) => counts.some((n) => n));
	return kind_line(sides) + whole.map(([line, counts]) => `${line} ${counts.join(' ')}\n`).join('');
}
