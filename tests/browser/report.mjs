// The report page in Chromium, light and dark: it is drawn, wide tables stay inside, and it asks for nothing but itself.
// node report.mjs BINARY SESSION [FOLDER FOR SCREENSHOTS]
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { chromium } from 'playwright-core';

const [binary, session, screenshots] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'xprof-report-'));
const page = join(folder, 'report.html');
execFileSync(resolve(binary), ['report', resolve(session), '-o', page]);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const problems = [];
try {
  const backgrounds = new Set();
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({ colorScheme, viewport: { width: 1200, height: 900 } });
    const tab = await context.newPage();
    const requests = [];
    tab.on('request', (request) => requests.push(request.url()));
    tab.on('console', (message) => problems.push(`${colorScheme}: ${message.text()}`));
    tab.on('pageerror', (error) => problems.push(`${colorScheme}: ${error}`));
    await tab.goto(`file://${page}`);
    const seen = await tab.evaluate(() => ({
      width: document.documentElement.scrollWidth,
      headings: document.querySelectorAll('h2').length,
      plots: [...document.querySelectorAll('svg')].filter((plot) => plot.getBoundingClientRect().height > 100).length,
      background: getComputedStyle(document.body).backgroundColor,
    }));
    backgrounds.add(seen.background);
    if (requests.length !== 1) problems.push(`${colorScheme}: requests: ${requests}`);
    if (seen.width > 1200 || seen.headings !== 6 || seen.plots < 1) problems.push(`${colorScheme}: ${JSON.stringify(seen)}`);
    if (screenshots) await tab.screenshot({ path: join(screenshots, `report-${colorScheme}.png`), fullPage: true });
    await context.close();
  }
  if (backgrounds.size !== 2) problems.push(`one background for light and dark: ${[...backgrounds]}`);
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
for (const problem of problems) console.error(problem);
console.log(problems.length ? 'report page: FAILED' : 'report page: ok');
process.exit(problems.length ? 1 : 0);
