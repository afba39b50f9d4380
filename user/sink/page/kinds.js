// SPDX-License-Identifier: Apache-2.0
// kinds.js - one kind of value is shown at a time: samples of the others count nothing, and have no
// times. A profile of one kind has no choice.

function take_kind(side, kind) {
	const { value, kind: kinds, ticks } = side.all;
	side.value = value;
	side.ticks = ticks;
	if (!kinds) return side;
	side.value = value.map((v, i) => (kinds[i] === kind ? v : 0));
	const taken = Array.from(ticks.sample.keys()).filter((i) => kinds[ticks.sample[i]] === kind);
	side.ticks = {
		len: taken.length,
		time: Float64Array.from(taken, (i) => ticks.time[i]),
		sample: Uint32Array.from(taken, (i) => ticks.sample[i]),
	};
	side.unit = side.kinds[kind].unit;
	side.period_ns = side.kinds[kind].period_ns;
	return side;
}

function choose_kind(page, kind) {
	const side = take_kind(page.profile.sides[0], kind);
	page.all = page.filter.all = sums_of(page.profile);
	page.put_facts();
	if (page.heat) page.heat.ticks = side.ticks;
	page.set_filter('container', page.filter.chosen.container);
}

function put_kinds(page) {
	const [{ kinds }] = page.profile.sides, list = id('kind');
	id('kind-field').hidden = !kinds || page.diff;
	if (id('kind-field').hidden) return;
	list.replaceChildren(...kinds.map((kind, i) => new Option(kind.name, String(i), i === 0, i === 0)));
	list.addEventListener('change', () => choose_kind(page, Number(list.value)));
}

function sums_of(profile) {
	return profile.sides.map((side) => side.value.reduce((a, b) => a + b, 0));
}
