// SPDX-License-Identifier: Apache-2.0
// daemon.mjs PLAYWRIGHT CHROMIUM URL ARTEFACTS - what a reader of the daemon's page can do, in Chromium,
// with mouse and keys. Prints one JSON object of what came of it; saves pictures.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [home, executablePath, url, artefacts] = process.argv.slice(2);
const require = createRequire(home + '/');
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const results = { errors: [], foreign: [], axe: [] };

async function open(colorScheme, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme, ...options });
	const page = await context.newPage();
	page.setDefaultTimeout(60000);
	page.on('console', (m) => m.type() === 'error' && results.errors.push(m.text()));
	page.on('pageerror', (e) => results.errors.push(e.message));
	page.on('request', (r) => !r.url().startsWith(url) && !/^(data|blob):/.test(r.url()) && results.foreign.push(r.url()));
	await page.goto(execFileSync(process.env.STOKER, ['open', '--config', process.env.CONFIG], { encoding: 'utf8' }).trim());
	await page.waitForFunction(() => document.documentElement.dataset.ready);
	return page;
}

// The flame graph that the page shows, once it is the one that was asked for.
async function flame_of(page, words) {
	await page.waitForFunction((text) => (document.getElementById('flame').getAttribute('src') || '').includes(text), words);
	const frame = await (await page.$('#flame')).contentFrame();
	await frame.waitForURL((at) => at.href.includes(words));
	await frame.waitForFunction(() => document.documentElement.dataset.ready);
	return frame.evaluate(async () => {
		const it = await window.stoker, app = document.querySelector('[role=application][aria-label^="Flame graph"]');
		return { label: app.getAttribute('aria-label'), origin: self.origin,
			names: Array.from({ length: it.profile.functions.len }, (_, i) => it.function_name(i)) };
	});
}

const src = (page) => page.evaluate(() => document.getElementById('flame').getAttribute('src'));

async function cell(page, n, row) {
	return page.evaluate(([at, y]) => {
		const box = document.getElementById('map').getBoundingClientRect();
		return { x: box.left + (left_of(at) + left_of(at + 1)) / 2, y: box.top + y * ROW + ROW / 2, cells: state.heat.cells.length };
	}, [n, row]);
}

const page = await open('light');
results.title = await page.title();
results.facts = await page.textContent('#facts');
const heat = await page.evaluate(() => ({ cells: state.heat.cells, rows: rows().map((row) => row.name), all: state.heat.all.cpus }));
results.cells = heat.cells.length;
results.map = await page.evaluate(() => { const { width, bottom } = document.getElementById('map').getBoundingClientRect(); return { width, bottom }; });
results.rows = heat.rows;
results.drawn = await page.evaluate(() => {
	const canvas = document.querySelector('#map canvas');
	const data = canvas.getContext('2d').getImageData(canvas.width / 2, 0, canvas.width / 2, canvas.height).data;
	return new Set(Array.from({ length: data.length / 4 }, (_, i) => data[4 * i] << 16 | data[4 * i + 1] << 8 | data[4 * i + 2])).size;
});

// A click: one cell of the sum.
const first = await cell(page, 1, 0);
await page.mouse.click(first.x, first.y);
results.clicked = { flame: await flame_of(page, 'format=html'), src: await src(page), said: await page.textContent('#chosen') };
await page.screenshot({ path: `${artefacts}/daemon-clicked.png` });

// A drag, over more of them.
const from = await cell(page, 0, 0), until = await cell(page, 2, 0);
await page.mouse.move(from.x, from.y);
await page.mouse.down();
await page.mouse.move((from.x + until.x) / 2, until.y, { steps: 3 });
await page.mouse.move(until.x, until.y, { steps: 3 });
await page.mouse.up();
results.dragged = { src: await src(page), cells: await page.evaluate(() => state.until - state.from + 1) };

// The picker: one container alone, of the same time.
const who = results.rows.find((name) => name.includes(process.env.WHO)) || results.rows[1];
await page.selectOption('#who', who);
results.picked = { who, src: await src(page), flame: await flame_of(page, new URLSearchParams({ [await page.evaluate(() => state.heat.key)]: who }).toString()) };
await page.screenshot({ path: `${artefacts}/daemon-container.png` });

// The other kind of value: of all of them, as who burns does not wait.
await page.selectOption('#who', '');
await page.selectOption('#kind', 'wall');
results.waits = { flame: await flame_of(page, 'e=wall'), links: await page.$$eval('#links a', (all) => all.map((a) => a.href)) };
await page.selectOption('#kind', 'cpu');

// Keys alone, from the start, in the dark.
const other = await open('dark');
await other.keyboard.press('Tab');
for (let i = 0; i < 10 && await other.evaluate(() => document.activeElement.id) !== 'map'; i++) await other.keyboard.press('Tab');
await other.keyboard.press('Home');
await other.keyboard.press('ArrowRight');
await other.keyboard.press('Shift+ArrowRight');
await other.keyboard.press('Enter');
results.keyed = { cells: await other.evaluate(() => state.until - state.from + 1), flame: (await flame_of(other, 'format=html')).label,
	label: await other.getAttribute('#map', 'aria-label') };
await other.screenshot({ path: `${artefacts}/daemon-dark.png` });
await other.keyboard.press('Escape');
results.escaped = await other.evaluate(() => document.getElementById('profile').hidden);

for (const colorScheme of ['light', 'dark']) {
	const one = await open(colorScheme, { bypassCSP: true }), at = await cell(one, 0, 0);
	await one.mouse.click(at.x, at.y);
	await flame_of(one, 'format=html');
	await one.addScriptTag({ content: axe });
	const { violations } = await one.evaluate(() => globalThis.axe.run());
	results.axe.push(...violations.map((v) => `${colorScheme}: ${v.id}: ${v.nodes[0].html}`));
}
results.overflow = await page.setViewportSize({ width: 420, height: 800 }).then(() =>
	page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth));
console.log(JSON.stringify(results));
await browser.close();
