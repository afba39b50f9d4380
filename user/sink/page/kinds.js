// SPDX-License-Identifier: Apache-2.0
// kinds.js - one kind of value is shown at a time: samples of the others count nothing, and have no
// times. A profile of one kind has no choice. Likewise samples of threads that only wait for work,
// which have the label idle=yes, count nothing where they are hidden.

// The first kind that has any value, so that a page opens with something to see.
function first_kind(side) {
	const { kind, value } = side.all;
	const sums = (side.kinds || []).map((_, k) => value.some((v, i) => v > 0 && kind[i] === k));
	return Math.max(0, sums.indexOf(true));
}

// Of each set of labels whether it says idle=yes; null if no sample's does.
function idle_labels(side, texts) {
	const idle = side.labels.idle && side.labels.idle.map((text) => (texts[text] === 'yes' ? 1 : 0));
	return idle && side.label.some((labels) => idle[labels]) ? idle : null;
}

function open_side(side, texts, kind) {
	side.kind_at = kind;
	side.idle = idle_labels(side, texts);
	side.idle_hidden = false;
	return take_samples(side);
}

function take_samples(side) {
	const { value, kind: kinds, ticks } = side.all, hidden = side.idle_hidden ? side.idle : null;
	const of_kind = (i) => !kinds || kinds[i] === side.kind_at;
	const shown = (i) => of_kind(i) && !(hidden && hidden[side.label[i]]);
	if (kinds) {
		const { name, unit, period_ns } = side.kinds[side.kind_at];
		Object.assign(side, { kind: name, unit, period_ns });
	}
	side.timed = ticks.sample.some(of_kind);
	side.value = value;
	side.ticks = ticks;
	if (!kinds && !hidden) return side;
	side.value = value.map((v, i) => (shown(i) ? v : 0));
	const taken = Array.from(ticks.sample.keys()).filter((i) => shown(ticks.sample[i]));
	side.ticks = {
		len: taken.length,
		time: Float64Array.from(taken, (i) => ticks.time[i]),
		sample: Uint32Array.from(taken, (i) => ticks.sample[i]),
	};
	return side;
}

// After another kind is chosen, or idle ones are shown or hidden.
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

function show_idle(page, shown) {
	for (const side of page.profile.sides) side.idle_hidden = !shown;
	id('idle').checked = shown;
	take_again(page);
	page.say(shown ? 'Idle threads are shown' : 'Idle threads are hidden');
}

function turn_idle(page) {
	if (!id('idle-field').hidden) show_idle(page, !id('idle').checked);
}

function put_kinds(page) {
	const { sides } = page.profile, [{ kinds, kind_at }] = sides, list = id('kind'), idle = id('idle');
	id('idle-field').hidden = !sides.some((side) => side.idle);
	idle.checked = true;
	idle.addEventListener('change', () => show_idle(page, idle.checked));
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
