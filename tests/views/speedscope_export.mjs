// SPDX-License-Identifier: Apache-2.0
// speedscope_export.mjs PACKAGES CHROMIUM FILE - opens the file in speedscope, in Chromium, from the
// disk, and prints what speedscope exports of it: the profile as it understood it.
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { tmpdir } from 'node:os';

const [home, executablePath, file] = process.argv.slice(2);
const { chromium } = createRequire(home + '/')('playwright-core');
const index = join(home, 'node_modules/speedscope/dist/release/index.html');
const dir = mkdtempSync(join(tmpdir(), 'speedscope-'));
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--allow-file-access-from-files'] });
const page = await browser.newPage({ acceptDownloads: true });
const script = join(dir, 'profile.js');

writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${readFileSync(file).toString('base64')}")`);
await page.goto(`file://${index}#localProfilePath=${script}`);
await page.waitForFunction(() => document.querySelectorAll('canvas').length > 0, null, { timeout: 20000 });
const download = page.waitForEvent('download');
await page.getByText('Export', { exact: false }).first().click();
await (await download).saveAs(join(dir, 'exported.json'));
process.stdout.write(readFileSync(join(dir, 'exported.json')));
await browser.close();
rmSync(dir, { recursive: true });
