// SPDX-License-Identifier: Apache-2.0
// kinds.mjs PLAYWRIGHT CHROMIUM PAGE - chooses each kind of value that PAGE has, and prints as JSON the
// totals and frequencies that it shows: of the first, the last and the first again.
import { createRequire } from 'node:module';

const [home, executablePath, path] = process.argv.slice(2);
const { chromium } = createRequire(home + '/')('playwright-core');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const page = await browser.newPage(), results = { errors: [], totals: [], hz: [] };
page.on('pageerror', (e) => results.errors.push(e.message));
page.on('console', (m) => m.type() === 'error' && results.errors.push(m.text()));
await page.goto('file://' + path);
await page.waitForFunction(() => document.documentElement.dataset.ready);
results.kinds = await page.evaluate(() => [...document.querySelectorAll('#kind option')].map((o) => o.text));
for (const at of [0, results.kinds.length - 1, 0]) {
	if (results.kinds.length) await page.selectOption('#kind', String(at));
	results.totals.push(await page.evaluate(async () => (await window.stoker).tree.total[0]));
	results.hz.push((await page.textContent('#facts')).match(/[\d.]+ Hz/)?.[0]);
}
results.routes = await page.evaluate(async () => {
	const { profile } = await window.stoker, { labels } = profile.sides[0];
	return [...new Set(labels.route)].map((text) => profile.texts[text]).sort();
});
console.log(JSON.stringify(results));
await browser.close();
