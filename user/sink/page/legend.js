// SPDX-License-Identifier: Apache-2.0
// legend.js - classes of the marks that say why a thread has no CPU (profile/marks.h), each with a
// colour of its own, and the list of all colours that a profile shows. The colours differ from each
// other and from those of frames; dark text can be read on each.

const STATES = [
	{ text: 'runnable', light: '#e5d606', dark: '#e5da3e', marks: ['[runnable]'] },
	{ text: 'throttled', light: '#fb515c', dark: '#ea626b', marks: ['[throttled]'] },
	{ text: 'sleeping', light: '#8e7fdc', dark: '#b6ade0', marks: ['[sleeping]'] },
	{ text: 'stopped', light: '#bb9977', dark: '#c7b29e', marks: ['[stopped]'] },
	{ text: 'blocked: futex', light: '#b25ff2', dark: '#ae69e2', marks: ['[blocked on futex]'] },
	{ text: 'blocked: I/O', light: '#32e292', dark: '#7cdeb2',
		marks: ['[blocked on disk]', '[blocked on page]', '[blocked on fuse]', '[blocked on file lock]'] },
	{ text: 'blocked: network', light: '#38d0fa', dark: '#23b8e1',
		marks: ['[blocked on socket]', '[blocked on accept]', '[blocked on epoll]', '[blocked on poll]', '[blocked on pipe]'] },
	{ text: 'blocked: other', light: '#d760a5', dark: '#c7609c',
		marks: ['[blocked on child]', '[blocked on signal]', '[blocked on semaphore]', '[blocked on message queue]',
			'[blocked on eventfd]', '[blocked on inotify]', '[blocked on terminal]', '[blocked on io_uring]', '[blocked]'] },
];
const STATE_OF = new Map(STATES.flatMap((state) => state.marks.map((mark) => [mark, state])));

// Undefined for a mark that is a note and no state.
function state_of(mark) {
	return STATE_OF.get(mark);
}

// States of the samples that are shown, in the order of STATES.
function states_of(profile) {
	const { functions, nodes, texts } = profile, seen = new Set();
	for (const side of profile.sides)
		for (let i = 0; i < side.len; i++) {
			const fn = nodes.fn[side.node[i]];
			if (side.value[i] > 0 && functions.kind[fn] === KIND.mark) seen.add(state_of(texts[functions.text[fn]]));
		}
	return STATES.filter((state) => seen.has(state));
}

function kinds_of(page) {
	const { functions, texts } = page.profile, kinds = new Set(page.keys.length ? [KIND.label] : []);
	for (let fn = 0; fn < functions.len; fn++)
		if (functions.kind[fn] !== KIND.mark || !state_of(texts[functions.text[fn]])) kinds.add(functions.kind[fn]);
	return [...kinds].sort();
}

function put_legend(page) {
	const items = [], { theme } = page, shades = SHADES[theme];
	const add = (colour, text, title) => {
		const li = document.createElement('li'), swatch = document.createElement('i');
		swatch.style.background = colour;
		li.append(swatch, text);
		if (title) li.title = title;
		items.push(li);
	};
	if (page.diff) {
		add(shades.grew[STEPS], 'more after');
		add(SAME[theme], 'the same');
		add(shades.shrank[STEPS], 'less after');
	} else {
		for (const kind of kinds_of(page)) {
			const [hue, hues, saturation] = KIND_COLOUR[kind];
			add(hex_of(hue + hues / 2, saturation * SATURATION[theme], LIGHTNESS[theme][kind]), KIND_TEXT[kind]);
		}
		for (const state of states_of(page.profile)) add(state[theme], state.text, state.marks.join(' '));
	}
	id('legend').replaceChildren(...items);
}
