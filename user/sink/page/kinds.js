// SPDX-License-Identifier: Apache-2.0
// kinds.js - one kind of value is shown at a time: samples of the others count nothing, and have no
// times. A profile of one kind has no choice.

// The first kind that has any value, so that a page opens with something to see.
function first_kind(side) {
	const { kind, value } = side.all;
	const sums = (side.kinds || []).map((_, k) => value.some((v, i) => v > 0 && kind[i] === k));
	return Math.max(0, sums.indexOf(true));
}

function open_side(side, kind) {
	side.kind_at = kind;
	return take_samples(side);
}

function take_samples(side) {
	const { value, kind: kinds, ticks } = side.all;
	const of_kind = (i) => !kinds || kinds[i] === side.kind_at;
	if (kinds) {
		const { name, unit, period_ns } = side.kinds[side.kind_at];
		Object.assign(side, { kind: name, unit, period_ns });
	}
	side.timed = ticks.sample.some(of_kind);
	side.value = value;
	side.ticks = ticks;
	if (!kinds) return side;
	side.value = value.map((v, i) => (of_kind(i) ? v : 0));
	const taken = Array.from(ticks.sample.keys()).filter((i) => of_kind(ticks.sample[i]));
	side.ticks = {
		len: taken.length,
		time: Float64Array.from(taken, (i) => ticks.time[i]),
		sample: Uint32Array.from(taken, (i) => ticks.sample[i]),
	};
	return side;
}

// After another kind is chosen.
function take_again(page) {
	const [side] = page.profile.sides;
	page.profile.sides.forEach(take_samples);
	page.all = page.filter.all = sums_of(page.profile);
	page.put_facts();
	put_legend(page);
	if (page.heat) {
		page.heat.ticks = side.ticks;
		id('heat').hidden = !side.timed;
		if (!side.timed) page.range = page.heat.range = null;
	}
	page.set_filter('container', page.filter.chosen.container);
}

function put_kinds(page) {
	const { sides } = page.profile, [{ kinds, kind_at }] = sides, list = id('kind');
	id('kind-field').hidden = !kinds || page.diff;
	if (id('kind-field').hidden) return;
	list.replaceChildren(...kinds.map((kind, i) => new Option(kind.name, String(i), i === kind_at, i === kind_at)));
	list.addEventListener('change', () => {
		sides[0].kind_at = Number(list.value);
		take_again(page);
	});
}

function sums_of(profile) {
	return profile.sides.map((side) => side.value.reduce((a, b) => a + b, 0));
}
