// Opens `/`, sees the run, opens the trace viewer, sees its tracks, selects an event, reads its details, reloads.
//
//     node trace_viewer.mjs BINARY LOGDIR
//
// LOGDIR holds one run of TPU training. Screenshots go to a folder that is named at the end, kept when something failed.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser, startServer, watch } from './harness.mjs';

// Generous, for machines that do much else: what is waited for comes or does not.
const WAIT_MS = 120_000;
// Rows that any profile of TPU training has.
const TRACKS = ['Steps', 'XLA Modules', 'XLA Ops'];
const SELECTED_TRACK = 'XLA Modules';
const CLICK_STEP_PX = 12;

const [binary, logdir] = process.argv.slice(2);
assert(binary && logdir, 'usage: node trace_viewer.mjs BINARY LOGDIR');
const [run] = (await readdir(join(logdir, 'plugins/profile'))).sort().reverse();

/** The frame of the trace viewer, once it has drawn its tracks. */
async function drawnTrace(page) {
  const element = await page.waitForSelector('iframe[src*="trace_viewer_index.html"]');
  const frame = await element.contentFrame();
  for (const track of TRACKS) {
    await frame.getByText(track, { exact: true }).first().waitFor();
  }
  return frame;
}

/** Clicks along one row until the details panel describes an event; returns the panel's text. */
async function selectEvent(page, frame) {
  const details = frame.locator('tr-ui-a-analysis-view').first();
  const row = await frame.getByText(SELECTED_TRACK, { exact: true }).first().boundingBox();
  const width = page.viewportSize().width;
  // The pointer tool; the page starts with the one that pans.
  await page.mouse.move(width / 2, row.y + row.height / 2);
  await page.keyboard.press('1');
  for (let x = row.x + row.width + CLICK_STEP_PX; x < width; x += CLICK_STEP_PX) {
    await page.mouse.click(x, row.y + row.height / 2);
    const text = await details.innerText();
    if (/Wall Duration/.test(text)) return text;
  }
  throw new Error(`no event found in the row ${SELECTED_TRACK}`);
}

const shots = await mkdtemp(join(tmpdir(), 'xprof-shots-'));
const server = await startServer(binary, logdir);
const browser = await startBrowser();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  page.setDefaultTimeout(WAIT_MS);
  page.setDefaultNavigationTimeout(WAIT_MS);
  const errors = [];
  const answers = await watch(page, server.url);
  const shoot = (name) => page.screenshot({ path: join(shots, `${name}.png`) });
  page.on('pageerror', (error) => errors.push(error.message));
  try {
    await page.goto(`${server.url}/`);
    await page.locator('mat-select', { hasText: run }).first().waitFor();
    console.log(`/ shows the run ${run}`);

    await page.locator('mat-select', { hasText: 'Overview Page' }).click();
    await page.locator('mat-option', { hasText: /^\s*Trace Viewer\s*$/ }).click();
    const frame = await drawnTrace(page);
    await shoot('trace');
    console.log(`the trace viewer shows ${TRACKS.join(', ')}`);

    const details = await selectEvent(page, frame);
    await shoot('selected');
    assert.match(details, /jit_/, `the details name the module:\n${details}`);
    assert.match(details, /Start\s/);
    console.log(`a selected event shows its details: ${details.replace(/\s+/g, ' ').slice(0, 120)}`);

    const address = page.url();
    assert.match(new URL(address).pathname, /^\/data\/plugin\/profile\/trace_viewer/);
    const before = answers.length;
    await page.reload();
    await drawnTrace(page);
    assert.equal(page.url(), address);
    assert.equal(answers[before].status, 200, 'the reload gets the page');
    await shoot('reloaded');
    console.log('after a reload the trace is there again');

    const failed = answers.filter(({ status }) => status >= 400);
    assert.deepEqual(failed, [], 'our routes answer without an error');
    console.log(`${answers.length} answers, none of them an error`);
  } catch (error) {
    await shoot('failed').catch(() => {});
    console.error('answers:', answers.filter(({ status }) => status !== 200));
    console.error('page errors:', errors);
    console.error('server:', server.log().slice(-4000));
    throw error;
  }
} catch (error) {
  console.error(`screenshots: ${shots}`);
  throw error;
} finally {
  await browser.close();
  await server.stop();
}
if (process.env.KEEP_SHOTS) console.log(`screenshots: ${shots}`);
else await rm(shots, { recursive: true });
