// SPDX-License-Identifier: Apache-2.0
// page.mjs PLAYWRIGHT CHROMIUM DIR ARTEFACTS - what a reader of DIR/page.html and DIR/page.svg can do,
// in Chromium, with the mouse and keys of a reader. Prints one JSON object of what came of it; saves
// pictures. DIR is as tests/views/made leaves it; FROM and UNTIL say which range range.folded has.
// page.mjs PLAYWRIGHT CHROMIUM PAGE - prints the folded stacks of that range of PAGE, dragged by hand.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [home, executablePath, dir, artefacts] = process.argv.slice(2);
const { FROM, UNTIL } = process.env;
const require = createRequire(home + '/');
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const results = { errors: [], requests: [], dialogs: [] };

async function open(url, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(90000);
	page.on('console', (m) => m.type() === 'error' && results.errors.push(m.text()));
	page.on('pageerror', (e) => results.errors.push(e.message));
	page.on('request', (r) => r.url() !== url && !/^(data|blob):/.test(r.url()) && results.requests.push(r.url()));
	page.on('dialog', (d) => { if (!options.dialogs) { results.dialogs.push(d.message()); d.dismiss(); } });
	await page.goto(url);
	return page;
}

async function open_page(options) {
	const page = await open(`file://${dir}/page.html`, options);
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	return page;
}

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const ready = (page) => page.evaluate(() => Number(document.documentElement.dataset.ready));

// The middle of the box of a node, in the window.
const box_of = (page, node) => page.evaluate(async (n) => {
	const { flame } = await window.stoker, [x, width] = flame.box_of(n);
	const seen = flame.element.getBoundingClientRect();
	return { x: seen.left + x + width / 2, y: seen.top + flame.top_of(flame.tree.depth[n]) - flame.element.scrollTop + 8 };
}, node);

async function times(page) {
	const took = { search: [], zoom: [], back: [] };
	for (let i = 0; i < 5; i++) {
		took.search.push(await page.evaluate((text) => {
			const input = document.getElementById('search'), began = performance.now();
			input.value = text;
			input.dispatchEvent(new InputEvent('input'));
			return performance.now() - began;
		}, 'hash_' + i));
		const at = await box_of(page, await page.evaluate(async () => {
			const { flame } = await window.stoker;
			return flame.first_callee(flame.first_callee(0));
		}));
		took.zoom.push(await page.evaluate(({ x, y }) => {
			const began = performance.now();
			document.getElementById('flame').dispatchEvent(new MouseEvent('click', { clientX: x, clientY: y }));
			return performance.now() - began;
		}, at));
		took.back.push(await page.evaluate(async () => {
			const began = performance.now();
			document.getElementById('back').click();
			return performance.now() - began;
		}));
	}
	await page.fill('#search', '');
	for (const name of Object.keys(took)) took[name] = Math.round(median(took[name]));
	return took;
}

async function saved(page) {
	const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
	return readFileSync(await download.path(), 'utf8');
}

// By hand, from the first cell of a range to its last.
async function drag(page, from, until) {
	const cells = await page.evaluate(async ([a, b]) => {
		const { heat } = await window.stoker, box = heat.canvas.getBoundingClientRect();
		const middle = (cell) => ({
			x: box.left + 44 + (Math.floor(cell / 50) + 0.5) * heat.map_width / heat.columns,
			y: box.top + (1 - (cell % 50 + 0.5) / 50) * heat.map_height,
		});
		return [middle(Math.round(a * 1e9 / heat.cell)), middle(Math.round(b * 1e9 / heat.cell) - 1)];
	}, [from, until]);
	await page.mouse.move(cells[0].x, cells[0].y);
	await page.mouse.down();
	await page.mouse.move((cells[0].x + cells[1].x) / 2, cells[1].y + 20, { steps: 4 });
	await page.mouse.move(cells[1].x, cells[1].y, { steps: 4 });
	await page.mouse.up();
	await page.waitForFunction(() => !document.getElementById('whole').disabled);
	return page.evaluate(async () => (await window.stoker).range);
}

// Self and total of each function, from folded text; the first two frames are labels.
function sums_of(text) {
	const sums = new Map();
	let all = 0;
	for (const line of text.split('\n').slice(0, -1)) {
		const blank = line.lastIndexOf(' '), count = Number(line.slice(blank + 1));
		const frames = line.slice(0, blank).split(';').slice(2);
		all += count;
		for (const name of new Set(frames)) {
			if (!sums.has(name)) sums.set(name, { self: 0, total: 0 });
			sums.get(name).total += count;
		}
		sums.get(frames[frames.length - 1]).self += count;
	}
	return { sums, all };
}

// How many functions of the table have other numbers than the folded text.
async function compare_table(page, text) {
	const { sums, all } = sums_of(text);
	const rows = await page.evaluate(async () => {
		const it = await window.stoker, [one] = it.function_sums(), { functions } = it.profile, list = [];
		for (let fn = 0; fn < functions.len; fn++) {
			const name = it.function_name(fn).replaceAll(';', ':') + ['', '_[k]', '_[j]', '_[i]', '', ''][functions.kind[fn]];
			if (one.total[fn]) list.push([name, one.self[fn], one.total[fn]]);
		}
		return { list, all: one.all };
	});
	let wrong = rows.all === all && rows.list.length === sums.size ? 0 : 1;
	for (const [name, self, total] of rows.list) {
		const sum = sums.get(name);
		if (!sum || sum.self !== self || sum.total !== total) wrong++;
	}
	return { functions: rows.list.length, wrong };
}

async function keyboard(page) {
	const said = () => page.textContent('#live');
	const out = {};
	await page.focus('#flame');
	await page.keyboard.press('ArrowUp');
	out.first = await said();
	await page.keyboard.press('ArrowUp');
	await page.keyboard.press('ArrowRight');
	out.moved = await said();
	await page.keyboard.press('Enter');
	out.zoomed = await page.evaluate(async () => (await window.stoker).flame.root);
	await page.keyboard.press('Backspace');
	out.back = await page.evaluate(async () => (await window.stoker).flame.root);
	await page.keyboard.press('/');
	out.searching = await page.evaluate(() => document.activeElement.id);
	await page.keyboard.type('redis');
	out.matched = await page.textContent('#matched');
	await page.keyboard.press('Escape');
	await page.focus('#map');
	for (const key of ['ArrowRight', 'ArrowUp', 'Enter', 'Shift+ArrowUp']) await page.keyboard.press(key);
	await page.waitForFunction(() => !document.getElementById('whole').disabled);
	out.range = await page.evaluate(async () => (await window.stoker).range);
	await page.keyboard.press('Escape');
	await page.waitForFunction(() => document.getElementById('whole').disabled);
	out.roles = await page.locator('body').ariaSnapshot();
	return out;
}

// Totals that must be the same however it is looked at.
async function shapes(page) {
	const total = () => page.evaluate(async () => (await window.stoker).tree.total[0]);
	const out = { whole: await total() };
	await page.click('#callers');
	out.callers_first = await total();
	await page.click('#callers');
	out.containers = {};
	for (const name of ['web', 'cache', 'host']) {
		await page.selectOption('#container', name);
		out.containers[name] = await total();
	}
	await page.selectOption('#container', '');
	await page.selectOption('#by', '');
	out.ungrouped = await total();
	await page.selectOption('#by', 'container,comm');
	return out;
}

async function svg() {
	const page = await open(`file://${dir}/page.svg`, { dialogs: true });
	const out = { boxes: await page.locator('#boxes > g').count() };
	page.once('dialog', (d) => d.accept('^java$'));
	await page.keyboard.press('Control+f');
	out.matched = await page.textContent('#matched');
	// A locator takes seconds among so many boxes.
	const java = await page.evaluateHandle(() => [...document.querySelectorAll('#boxes > g')]
		.find((box) => box.querySelector('title').textContent.startsWith('java ')).querySelector('rect'));
	await java.click();
	out.width = Number(await java.getAttribute('width'));
	await page.screenshot({ path: artefacts + '/svg.png' });
	await page.keyboard.press('Escape');
	await page.keyboard.press('Escape');
	out.after = Number(await java.getAttribute('width'));
	return out;
}

// What axe finds wrong, in both themes and tabs; of the page with one profile and of that with two.
async function accessibility() {
	const found = [];
	for (const colorScheme of ['light', 'dark'])
		for (const name of ['page', 'diff']) {
			const page = await open(`file://${dir}/small/${name}.html`, { colorScheme, bypassCSP: true });
			await page.waitForFunction(() => document.documentElement.dataset.ready);
			await page.fill('#search', 'java');
			await page.addScriptTag({ content: axe });
			for (const tab of ['table', 'flame']) {
				await page.click('#tab-' + tab);
				const { violations } = await page.evaluate(() => globalThis.axe.run());
				found.push(...violations.map((v) => `${name} ${colorScheme} ${tab}: ${v.id}: ${v.nodes[0].html}`));
			}
			if (name === 'diff') await page.screenshot({ path: `${artefacts}/diff-${colorScheme}.png` });
			await page.context().close();
		}
	return found;
}

// Red where it grew, blue where it shrank; before scaled to after as it is asked for.
async function diff() {
	const page = await open(`file://${dir}/small/diff.html`);
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	const out = { title: await page.textContent('#title') };
	out.is_folded = (await saved(page)) === readFileSync(dir + '/small/diff.folded', 'utf8');
	const look = () => page.evaluate(async () => {
		const it = await window.stoker, { tree } = it, counts = { grew: 0, shrank: 0, same: 0, wrong: 0 };
		for (let i = 1; i < tree.len; i++) {
			const change = tree.after.total[i] - tree.before.total[i], colour = it.colour_of(i);
			const [r, , b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
			counts[change > 0 ? 'grew' : change < 0 ? 'shrank' : 'same']++;
			if ((change > 0 && r < b) || (change < 0 && b < r && Math.abs(r - b) > 12)) counts.wrong++;
		}
		return { counts, before: Math.round(tree.before.total[0]), after: tree.after.total[0], width: Math.round(tree.total[0]) };
	});
	out.none = await look();
	await page.selectOption('#scale', 'total');
	out.total = await look();
	await page.selectOption('#width', 'before');
	out.width_before = (await look()).width;
	await page.selectOption('#width', 'both');
	out.width_both = (await look()).width;
	await page.context().close();
	return out;
}

if (!artefacts) {
	const only = await open('file://' + dir);
	await only.waitForFunction(() => document.documentElement.dataset.ready);
	await drag(only, Number(FROM), Number(UNTIL));
	process.stdout.write(await saved(only));
	await browser.close();
	process.exit(0);
}

const opened = [];
let page;
for (let i = 0; i < 3; i++) {
	if (page) await page.context().close();
	page = await open_page();
	opened.push(await ready(page));
}
results.open_ms = Math.min(...opened);
results.took_ms = await times(page);
results.title = await page.title();
results.whole_is_folded = (await saved(page)) === readFileSync(dir + '/page.folded', 'utf8');
results.shapes = await shapes(page);
results.range = await drag(page, Number(FROM), Number(UNTIL));
const part = await saved(page), expected = readFileSync(dir + '/range.folded', 'utf8');
writeFileSync(dir + '/dragged.folded', part);
results.range_is_folded = part === expected;
results.range_lines = expected.split('\n').length - 1;
results.table = await compare_table(page, expected);
results.shown = await page.textContent('#heat-text');
await page.screenshot({ path: artefacts + '/page-light.png' });
await page.click('#theme');
await page.screenshot({ path: artefacts + '/page-dark.png' });
await page.click('#tab-table');
await page.screenshot({ path: artefacts + '/page-table.png' });
results.refused = await page.evaluate(() => new Promise((resolve) => {
	addEventListener('securitypolicyviolation', (e) => resolve(e.violatedDirective));
	fetch('http://127.0.0.1:9/').catch(() => {});
}));
results.errors = results.errors.filter((text) => !text.includes('127.0.0.1:9'));
results.requests = results.requests.filter((url) => url !== 'http://127.0.0.1:9/');
await page.context().close();
page = await open_page();
results.keyboard = await keyboard(page);
await page.pdf({ path: artefacts + '/page.pdf', landscape: true, printBackground: true });
await page.setViewportSize({ width: 420, height: 800 });
await page.screenshot({ path: artefacts + '/page-narrow.png' });
results.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
results.svg = await svg();
results.diff = await diff();
results.axe = await accessibility();
await browser.close();
console.log(JSON.stringify(results));
