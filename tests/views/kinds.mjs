// SPDX-License-Identifier: Apache-2.0
// kinds.mjs PLAYWRIGHT CHROMIUM PAGE [PICTURES] - chooses each kind of value that PAGE has, and prints as
// JSON the totals and frequencies that it shows: of the first, the last and the first again. Before that,
// what the page opens with; after it, the colours of states and what the box for idle threads does.
// PICTURES: where pictures go, and how their names begin.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [home, executablePath, path, pictures] = process.argv.slice(2);
const require = createRequire(home + '/'), { chromium } = require('playwright-core');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage(), results = { errors: [], totals: [], hz: [] };
page.on('pageerror', (e) => results.errors.push(e.message));
page.on('console', (m) => m.type() === 'error' && results.errors.push(m.text()));
await page.goto('file://' + path);
await page.waitForFunction(() => document.documentElement.dataset.ready);

// All words that the page shows, and what it counts. A frame's words are those of the widest one.
const look = () => page.evaluate(async () => {
	const it = await window.stoker, text = (name) => document.getElementById(name).textContent;
	const shown = (name) => !document.getElementById(name).hidden;
	document.getElementById('tab-table').click();
	const table = [...document.querySelectorAll('#table tbody tr')].map((tr) => [...tr.children].map((td) => td.textContent));
	document.getElementById('tab-flame').click();
	const sums = it.function_sums()[0].self.reduce((a, b) => a + b, 0);
	it.flame.on.point(it.flame.first_callee(0), { clientX: 9, clientY: 9 });
	const tip = [...document.getElementById('tip').children].map((line) => line.textContent);
	it.flame.on.point(-1);
	return {
		title: text('title'), page_title: document.title, facts: text('facts'), total: it.tree.total[0], sums, tip, table,
		graph: document.getElementById('flame').getAttribute('aria-label'), empty: shown('empty'), heat: shown('heat'),
		kind: shown('kind-field') ? document.getElementById('kind').selectedOptions[0].text : null,
		processes: [...document.getElementById('process').options].map((o) => o.text),
		legend: [...document.querySelectorAll('#legend li')].map((li) => li.textContent),
	};
});
results.opened = await look();
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
results.saved = readFileSync(await download.path(), 'utf8');
results.kinds = await page.evaluate(() => [...document.querySelectorAll('#kind option')].map((o) => o.text));
for (const at of [0, results.kinds.length - 1, 0]) {
	if (results.kinds.length) await page.selectOption('#kind', String(at));
	results.totals.push(await page.evaluate(async () => (await window.stoker).tree.total[0]));
	results.hz.push((await page.textContent('#facts')).match(/[\d.]+ Hz/)?.[0]);
}

// A range of time is of kinds that have times.
if (results.opened.heat && results.kinds.length) {
	const seen = () => page.evaluate(async () => ({
		heat: !document.getElementById('heat').hidden, range: (await window.stoker).range, total: (await window.stoker).tree.total[0],
	}));
	await page.fill('#until', '0.5');
	await page.press('#until', 'Enter');
	await page.waitForFunction(() => /of/.test(document.getElementById('heat-text').textContent));
	results.range = [await seen()];
	for (const at of [results.kinds.length - 1, 0]) {
		await page.selectOption('#kind', String(at));
		results.range.push(await seen());
	}
}
results.routes = await page.evaluate(async () => {
	const { profile } = await window.stoker, { labels } = profile.sides[0];
	return [...new Set(labels.route)].map((text) => profile.texts[text]).sort();
});

// The colour of each mark in the graph, as it is on the canvas, in the table and in the legend; and of
// frames of each kind.
const colours = () => page.evaluate(async () => {
	const it = await window.stoker, { tree, flame } = it, { functions } = it.profile, out = { marks: {}, frames: {} };
	const hex = (rgb) => '#' + rgb.map((n) => Number(n).toString(16).padStart(2, '0')).join('');
	const of_swatch = (i) => hex(getComputedStyle(i).backgroundColor.match(/\d+/g));
	flame.element.scrollTop = 0;
	flame.draw();
	const ratio = flame.canvas.width / flame.width;
	for (let i = 1; i < tree.len; i++) {
		const fn = tree.fn[i], name = it.name_of(i);
		if (!(tree.total[i] > 0)) continue;
		if (fn >= functions.len || functions.kind[fn] !== 5) {
			out.frames[name] = it.colour_of(i);
			continue;
		}
		const [x, width] = flame.box_of(i), y = flame.top_of(tree.depth[i]) - flame.element.scrollTop;
		const at = [x + Math.min(2, width / 2), y + 2].map((n) => Math.floor(n * ratio));
		out.marks[name] = { graph: it.colour_of(i), canvas: hex([...flame.canvas.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3)) };
	}
	document.getElementById('tab-table').click();
	for (const th of document.querySelectorAll('#table tbody th'))
		if (out.marks[th.textContent]) out.marks[th.textContent].table = of_swatch(th.querySelector('i'));
	document.getElementById('tab-flame').click();
	out.legend = [...document.querySelectorAll('#legend li')].map((li) => [li.textContent, li.title, of_swatch(li.querySelector('i'))]);
	out.card = hex(getComputedStyle(flame.element).backgroundColor.match(/\d+/g));
	return out;
});
if (results.kinds.length) await page.selectOption('#kind', { label: results.opened.kind });
results.colours = {};
for (const theme of ['light', 'dark']) {
	while (await page.evaluate(() => document.documentElement.dataset.theme) !== theme) await page.click('#theme');
	results.colours[theme] = await colours();
	if (pictures) await page.screenshot({ path: `${pictures}-${theme}.png` });
}
results.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

// The box by its mark, by the key of the page and by Tab and the space bar.
const box = page.getByRole('checkbox', { name: 'Idle' });
results.idle = { boxes: await box.count() };
if (results.idle.boxes) {
	const { idle } = results, state = async () => ({ on: await box.isChecked(), said: await page.textContent('#live'), ...await look() });
	idle.on_at_first = await box.isChecked();
	await box.click();
	idle.hidden = await state();
	if (pictures) await page.screenshot({ path: `${pictures}-idle.png` });
	await page.keyboard.press('d');
	idle.shown = await state();
	await page.focus('#flame');
	await page.keyboard.press('d');
	idle.by_key = await state();
	await page.focus(results.kinds.length ? '#kind' : '#icicle');
	await page.keyboard.press('Tab');
	idle.tab = await page.evaluate(() => document.activeElement.id);
	await page.keyboard.press('Space');
	idle.by_space = await state();
}
results.axe = [];
for (const colorScheme of ['light', 'dark']) {
	const other = await (await browser.newContext({ colorScheme, bypassCSP: true })).newPage();
	await other.goto('file://' + path);
	await other.waitForFunction(() => document.documentElement.dataset.ready);
	await other.addScriptTag({ content: readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') });
	const { violations } = await other.evaluate(() => globalThis.axe.run());
	results.axe.push(...violations.map((v) => `${colorScheme}: ${v.id}: ${v.nodes[0].html}`));
}
console.log(JSON.stringify(results));
await browser.close();
