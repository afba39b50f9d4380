// SPDX-License-Identifier: Apache-2.0
// index.js - the daemon's page: how busy what was, and the flame graph of what is clicked. It asks
// /heat.json for the first and shows /query for the second; names are text and nothing else.
'use strict';

const LABELS = 168, ROW = 20, AXIS = 18, ROWS = 13, CELLS = 240, AGAIN_MS = 15000;
const element = (id) => document.getElementById(id);
const map = element('map'), canvas = map.querySelector('canvas');
const FORMATS = ['folded', 'pprof', 'speedscope', 'svg', 'html'];

const state = { heat: null, row: 0, from: -1, until: -1, cursor: -1, dragging: false, asked: 0 };

const two = (n) => String(n).padStart(2, '0');

function clock(s, seconds) {
	const at = new Date(s * 1000);
	return `${two(at.getHours())}:${two(at.getMinutes())}${seconds ? ':' + two(at.getSeconds()) : ''}`;
}

function day(s) {
	const at = new Date(s * 1000);
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

// ---- what there is -----------------------------------------------------------------------------

// The first row is the sum; the others have names. The hottest are shown, the picker has more.
function rows() {
	const heat = state.heat;
	return heat ? [{ ...heat.all, name: '' }, ...heat.rows.filter((row) => row.name !== '')] : [];
}

function shown() {
	const who = element('who').value, all = rows();
	return who === '' ? all.slice(0, ROWS) : all.filter((row, i) => i === 0 || row.name === who);
}

function fill_picker() {
	const who = element('who'), before = who.value, names = rows().slice(1).map((row) => row.name);
	const options = ['', ...names].map((name) => {
		const option = document.createElement('option');
		option.value = name;
		option.textContent = name === '' ? 'all' : name;
		return option;
	});
	who.replaceChildren(...options);
	who.value = names.includes(before) ? before : '';
	const key = state.heat.key || 'container';
	element('key').textContent = key[0].toUpperCase() + key.slice(1);
}

function tell(text) {
	element('facts').textContent = text;
}

async function load() {
	const number = ++state.asked, span = element('span').value;
	let heat;
	try {
		const answer = await fetch(`/heat.json?since=${span}&cells=${CELLS}`, { credentials: 'same-origin' });
		if (answer.status === 401) return tell('the session has ended: run `stoker open` again');
		if (!answer.ok) return tell((await answer.text()).trim());
		heat = await answer.json();
	} catch (error) {
		return tell('the daemon does not answer');
	}
	if (number !== state.asked || state.dragging) return;
	keep_choice(heat);
	state.heat = heat;
	fill_picker();
	tell(`${heat.cells.length === 0 ? 'nothing yet' : heat.all.cpu_s.toFixed(heat.all.cpu_s < 100 ? 1 : 0) + ' s of CPU'}` +
		` in the ${element('span').selectedOptions[0].textContent}`);
	draw();
	document.documentElement.dataset.ready = String(Number(document.documentElement.dataset.ready || 0) + 1);
}

// Cells move as time goes on: what is chosen are times.
function keep_choice(heat) {
	if (!state.heat || state.from < 0) return;
	const [from] = state.heat.cells[state.from], [, until] = state.heat.cells[state.until];
	state.from = heat.cells.findIndex(([, end]) => end > from + 0.001);
	state.until = heat.cells.findLastIndex(([start]) => start < until - 0.001);
	if (state.from < 0 || state.until < state.from) state.from = state.until = -1;
	state.cursor = Math.min(state.cursor, heat.cells.length - 1);
}

// ---- the map -----------------------------------------------------------------------------------

const dark = () => document.documentElement.dataset.theme === 'dark';
const colour_of = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// From paper to ember, by the root: what is small is to be seen too.
function shade(share) {
	const s = Math.sqrt(Math.min(1, share));
	return dark() ? `hsl(${28 - 12 * s} ${30 + 60 * s}% ${14 + 46 * s}%)` : `hsl(${32 - 18 * s} ${60 + 30 * s}% ${95 - 50 * s}%)`;
}

function left_of(cell) {
	const width = map.clientWidth - LABELS;
	return LABELS + Math.round(cell * width / state.heat.cells.length);
}

function cut(context, text, width) {
	if (context.measureText(text).width <= width) return text;
	while (text.length > 1 && context.measureText(text + '…').width > width) text = text.slice(0, -1);
	return text + '…';
}

function draw_row(context, row, y, most) {
	const height = ROW - 2;
	context.fillStyle = colour_of('--text');
	context.fillText(cut(context, row.name || 'all', LABELS - 12), 0, y + height / 2);
	row.cpus.forEach((cpus, cell) => {
		const x = left_of(cell);
		context.fillStyle = shade(cpus / most);
		context.fillRect(x, y, Math.max(1, left_of(cell + 1) - x - (state.heat.cells.length < 200 ? 1 : 0)), height);
	});
}

function draw_axis(context, y) {
	const cells = state.heat.cells, step = Math.ceil(cells.length * 64 / Math.max(64, map.clientWidth - LABELS));
	const seconds = cells.length > 1 && cells[cells.length - 1][1] - cells[0][0] < 600;
	context.fillStyle = colour_of('--muted');
	for (let cell = 0; cell < cells.length; cell += Math.max(1, step))
		if (left_of(cell) + 52 < map.clientWidth) context.fillText(clock(cells[cell][0], seconds), left_of(cell), y + AXIS / 2);
}

function draw_choice(context, height) {
	context.strokeStyle = context.fillStyle = colour_of('--accent');
	context.lineWidth = 2;
	if (state.from >= 0)
		context.strokeRect(left_of(state.from) + 1, state.row * ROW, left_of(state.until + 1) - left_of(state.from) - 2, ROW - 2);
	else if (state.cursor >= 0)
		context.strokeRect(left_of(state.cursor) + 1, state.row * ROW, left_of(state.cursor + 1) - left_of(state.cursor) - 2, ROW - 2);
	if (state.from >= 0) context.fillRect(left_of(state.from), height - AXIS, left_of(state.until + 1) - left_of(state.from), 2);
}

function draw() {
	if (!state.heat) return;
	const list = shown(), height = list.length * ROW + AXIS, scale = devicePixelRatio || 1;
	canvas.width = map.clientWidth * scale;
	canvas.height = height * scale;
	canvas.style.width = map.clientWidth + 'px';
	canvas.style.height = height + 'px';
	const context = canvas.getContext('2d');
	context.scale(scale, scale);
	context.font = '12px system-ui, sans-serif';
	context.textBaseline = 'middle';
	state.row = Math.min(state.row, list.length - 1);
	const most = Math.max(0.01, ...list[0].cpus);
	list.forEach((row, i) => draw_row(context, row, i * ROW, most));
	draw_axis(context, height - AXIS);
	draw_choice(context, height);
}

// ---- what is chosen ----------------------------------------------------------------------------

function question() {
	const cells = state.heat.cells, row = shown()[state.row];
	const words = new URLSearchParams();
	words.set('since', '@' + cells[state.from][0]);
	words.set('until', '@' + cells[state.until][1]);
	if (row.name !== '') words.set(state.heat.key || 'container', row.name);
	if (element('kind').value !== 'cpu') words.set('e', element('kind').value);
	return words;
}

function choice_text() {
	const cells = state.heat.cells, from = cells[state.from][0], until = cells[state.until][1];
	const row = shown()[state.row], cpus = row.cpus.slice(state.from, state.until + 1);
	const mean = cpus.reduce((sum, n) => sum + n, 0) / cpus.length;
	return `${row.name || 'all'}, ${day(from)} ${clock(from, true)} to ${clock(until, true)}: ${mean.toFixed(2)} CPUs`;
}

function show_choice() {
	if (state.from < 0) {
		element('profile').hidden = true;
		return;
	}
	const words = question();
	element('chosen').textContent = choice_text();
	element('links').replaceChildren(...FORMATS.map((format) => {
		const link = document.createElement('a');
		link.href = `/query?${words}&format=${format}`;
		link.target = '_blank';
		link.rel = 'noopener';
		link.textContent = format;
		return link;
	}));
	element('profile').hidden = false;
	words.set('format', 'html');
	if (element('flame').getAttribute('src') !== `/query?${words}`) element('flame').src = `/query?${words}`;
}

function place_of(event) {
	const box = map.getBoundingClientRect(), cells = state.heat.cells.length;
	const x = event.clientX - box.left, y = event.clientY - box.top;
	const cell = Math.floor((x - LABELS) * cells / Math.max(1, map.clientWidth - LABELS));
	return { cell: Math.max(0, Math.min(cells - 1, cell)), row: Math.max(0, Math.min(shown().length - 1, Math.floor(y / ROW))) };
}

function choose(anchor, cell) {
	state.from = Math.min(anchor, cell);
	state.until = Math.max(anchor, cell);
	draw();
}

let anchor = -1;
map.addEventListener('pointerdown', (event) => {
	if (!state.heat || state.heat.cells.length === 0 || event.button !== 0) return;
	const place = place_of(event);
	state.dragging = true;
	state.row = place.row;
	anchor = state.cursor = place.cell;
	map.setPointerCapture(event.pointerId);
	choose(anchor, anchor);
});
map.addEventListener('pointermove', (event) => {
	if (state.dragging) choose(anchor, place_of(event).cell);
});
for (const end of ['pointerup', 'pointercancel'])
	map.addEventListener(end, () => {
		if (!state.dragging) return;
		state.dragging = false;
		show_choice();
	});

function move(cells, event) {
	const last = state.heat.cells.length - 1;
	const at = Math.max(0, Math.min(last, (state.cursor < 0 ? last + (cells < 0 ? 1 : 0) : state.cursor) + cells));
	if (!event.shiftKey || anchor < 0) anchor = at;
	state.cursor = at;
	choose(anchor, at);
	element('profile').hidden || (element('chosen').textContent = choice_text());
	map.setAttribute('aria-label', 'CPU over time: ' + choice_text());
}

const keys = {
	ArrowLeft: (event) => move(-1, event),
	ArrowRight: (event) => move(1, event),
	PageUp: (event) => move(-10, event),
	PageDown: (event) => move(10, event),
	Home: (event) => move(-1e6, event),
	End: (event) => move(1e6, event),
	ArrowUp: (event) => { state.row = Math.max(0, state.row - 1); move(0, event); },
	ArrowDown: (event) => { state.row = Math.min(shown().length - 1, state.row + 1); move(0, event); },
	Enter: () => state.from >= 0 && show_choice(),
	' ': () => state.from >= 0 && show_choice(),
	Escape: () => { state.from = state.until = anchor = -1; draw(); show_choice(); },
};
map.addEventListener('keydown', (event) => {
	if (!keys[event.key] || !state.heat || state.heat.cells.length === 0) return;
	event.preventDefault();
	keys[event.key](event);
});

// ---- the rest ----------------------------------------------------------------------------------

element('span').addEventListener('change', () => {
	state.from = state.until = state.cursor = anchor = -1;
	show_choice();
	load();
});
// Who is picked is what is shown: of the time that is chosen, or of all of it.
element('who').addEventListener('change', () => {
	state.row = element('who').value === '' ? 0 : 1;
	if (state.from < 0 && state.heat && state.heat.cells.length > 0) {
		state.from = 0;
		state.until = state.heat.cells.length - 1;
	}
	draw();
	show_choice();
});

element('kind').addEventListener('change', show_choice);

function set_theme(theme) {
	document.documentElement.dataset.theme = theme;
	draw();
}
set_theme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
element('theme').addEventListener('click', () => set_theme(dark() ? 'light' : 'dark'));
new ResizeObserver(draw).observe(map);
setInterval(() => document.hidden || load(), AGAIN_MS);
load();
