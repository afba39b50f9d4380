// SPDX-License-Identifier: Apache-2.0
// speedscope.mjs PACKAGES CHROMIUM ARTEFACTS FUNCTION FILE... - opens each file in speedscope, in
// Chromium, from the disk. It must be taken without an error, nothing may be asked of the network,
// and one of its profiles must show FUNCTION. Saves pictures.
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { tmpdir } from 'node:os';

const [home, executablePath, artefacts, wanted, ...files] = process.argv.slice(2);
const require = createRequire(home + '/');
const { chromium } = require('playwright-core');
const index = join(home, 'node_modules/speedscope/dist/release/index.html');
const dir = mkdtempSync(join(tmpdir(), 'speedscope-'));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--allow-file-access-from-files'] });
let bad = 0;

function say(file, text) {
	console.log(`${basename(file)}: ${text}`);
	bad++;
}

for (const file of files) {
	const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
	const drawn = new Set();
	page.on('pageerror', (e) => say(file, e.message));
	page.on('console', (m) => m.type() === 'error' && say(file, m.text()));
	page.on('dialog', (d) => { say(file, d.message()); d.dismiss(); });
	page.on('request', (r) => /^https?:/.test(r.url()) && say(file, 'asks for ' + r.url()));
	await page.exposeFunction('drew', (text) => drawn.add(text));
	// Names are drawn on a canvas.
	await page.addInitScript(() => {
		const fill = CanvasRenderingContext2D.prototype.fillText;
		CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
			window.drew(text);
			return fill.call(this, text, ...rest);
		};
	});
	const script = join(dir, 'profile.js');
	writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${readFileSync(file).toString('base64')}")`);
	await page.goto(`file://${index}#localProfilePath=${script}`);
	const shown = async () => [...drawn].some((text) => text.startsWith(wanted.slice(0, 5))) ||
		(await page.evaluate(() => document.body.innerText)).includes(wanted);
	try {
		await page.waitForFunction(() => document.querySelectorAll('canvas').length > 0, null, { timeout: 20000 });
		await page.keyboard.press('3'); // the sandwich: a table of all functions, the hottest first
		for (let tries = 0; tries < 40 && !(await shown()); tries++) {
			if (tries % 2) await page.keyboard.press('n');
			await page.waitForTimeout(100);
		}
		if (!(await shown())) say(file, `${wanted} is not shown`);
	} catch (error) {
		say(file, error.message.split('\n')[0]);
	}
	await page.screenshot({ path: join(artefacts, `speedscope-${basename(file)}.png`) });
	await page.close();
}
await browser.close();
rmSync(dir, { recursive: true });
process.exit(bad ? 1 : 0);
