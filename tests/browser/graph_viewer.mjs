// Opens the page of a graph with no other host to reach: it is drawn, says where its nodes come from under the mouse, pans and
// zooms, and asks no other host for anything.
//
//     node graph_viewer.mjs BINARY LOGDIR
//
// LOGDIR holds one run with HLO modules.
import assert from 'node:assert/strict';
import { startBrowser, startServer, watch } from './harness.mjs';

const WAIT_MS = 120_000;

const [binary, logdir] = process.argv.slice(2);
assert(binary && logdir, 'usage: node graph_viewer.mjs BINARY LOGDIR');

const server = await startServer(binary, logdir);
const browser = await startBrowser();
try {
  const ask = async (path) => (await fetch(server.url + path)).text();
  const [run] = JSON.parse(await ask('/runs'));
  const [module] = (await ask(`/module_list?run=${run}`)).split(',');
  const about = `/data?run=${run}&tag=graph_viewer&module_name=${encodeURIComponent(module)}`;
  const [, entry] = (await ask(`${about}&type=short_txt`)).match(/^ENTRY (\S+) \{/m);

  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  page.setDefaultTimeout(WAIT_MS);
  const answers = await watch(page, server.url);
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  // As the interface asks for it: with three slashes.
  await page.goto(`${server.url}//${`/data/plugin/profile${about}`}&type=graph&format=html&node_name=${entry}`);
  await page.waitForFunction(() => document.head.childElementCount > 0);
  assert.equal(await page.locator('#problem').count(), 0, 'graphviz takes the text');
  const nodes = await page.locator('#graph svg g.node').count();
  assert(nodes > 1, `${nodes} nodes`);
  const titles = await page.locator('#graph svg g.node > title').allTextContents();
  assert(titles.every((title) => !/^\d+$/.test(title)), 'no node says its number');
  console.log(`${module}: ${nodes} nodes are drawn`);

  // What the browser shows beside the mouse is the text of the innermost title around what is under it.
  const hoverText = (part) =>
    part.evaluate((element) => {
      const box = element.getBoundingClientRect();
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      let under = document.elementFromPoint(x, y);
      while (under && !under.querySelector(':scope > title')) under = under.parentElement;
      return { x, y, text: under?.querySelector(':scope > title').textContent };
    });
  const node = page.locator('#graph svg g.node').nth(titles.findIndex((title) => title !== ''));
  assert(titles.some((title) => title !== ''), 'some node says where it comes from');
  const over = await hoverText(node);
  assert.equal(over.text, await node.locator(':scope > title').textContent());
  await page.mouse.move(over.x, over.y);
  assert.equal(await node.evaluate((element) => getComputedStyle(element).outlineStyle), 'solid', 'it stands out');
  const edges = await page.locator('#graph svg g.edge > title').allTextContents();
  assert(edges.some((title) => / -> /.test(title)), 'edges say what they join');
  console.log(`under the mouse: ${over.text.split('\n')[0]}`);

  const view = async () => (await page.locator('#graph svg').getAttribute('viewBox')).split(' ').map(Number);
  const whole = await view();
  await page.mouse.move(600, 450);
  await page.mouse.wheel(0, -300);
  await page.waitForFunction((width) => document.querySelector('#graph svg').viewBox.baseVal.width < width, whole[2]);
  const near = await view();
  await page.mouse.down();
  await page.mouse.move(700, 500, { steps: 4 });
  await page.mouse.up();
  const moved = await view();
  assert(moved[0] < near[0] && moved[1] < near[1] && moved[2] === near[2], `${near} to ${moved}`);
  await page.click('#fit');
  assert.deepEqual(await view(), whole);
  console.log('it zooms, pans and fits');

  assert.deepEqual(errors, []);
  assert.deepEqual(answers.foreign, [], 'no other host is asked');
  const wrong = answers.filter(({ status, path }) => status >= 400 && path !== '/favicon.ico');
  assert.deepEqual(wrong, [], 'our routes answer without an error');
} finally {
  await browser.close();
  await server.stop();
}
