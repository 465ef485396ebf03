// What a browser scenario needs: the binary serving a private copy of a log directory, a headless Chromium without
// background traffic, and a watch on every answer of our own routes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;

/** A port of 127.0.0.1 that was free a moment ago. */
async function freePort() {
  const socket = createServer().listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  return port;
}

/** Starts the binary on a copy of a log directory (servers write beside profiles) and waits for its first answer. */
export async function startServer(binary, logdir) {
  const folder = await mkdtemp(join(tmpdir(), 'xprof-browser-'));
  await cp(logdir, join(folder, 'logdir'), { recursive: true });
  const port = await freePort();
  const child = spawn(binary, [`--logdir=${join(folder, 'logdir')}`, `--port=${port}`], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stdout.on('data', (text) => (log += text));
  child.stderr.on('data', (text) => (log += text));

  const server = {
    url: `http://127.0.0.1:${port}`,
    /** What the server has printed. */
    log: () => log,
    /** Asks it to end as a service manager would; throws unless it does so quickly and with success. */
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const kill = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
        child.kill('SIGTERM');
        await once(child, 'exit');
        clearTimeout(kill);
      }
      await rm(folder, { recursive: true, force: true });
      if (child.exitCode !== 0) throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}:\n${log}`);
    },
  };
  for (const start = Date.now(); ; await new Promise((done) => setTimeout(done, 50))) {
    if (await fetch(`${server.url}/version`).then((answer) => answer.ok, () => false)) return server;
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (ended || Date.now() - start > START_TIMEOUT_MS) {
      child.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true });
      throw new Error(`the server gave no answer on ${server.url}:\n${log}`);
    }
  }
}

/** A headless Chromium that looks nothing up on its own. */
export function startBrowser() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/**
 * Lets a page talk to our server only and keeps what our routes answered.
 * Foreign hosts (Google's charts and fonts) are refused at once, as on a machine without internet; `answers.foreign` keeps
 * what was asked of them.
 */
export async function watch(page, url) {
  const answers = Object.assign([], { foreign: [] });
  page.on('response', (response) => {
    if (!response.url().startsWith(url)) return;
    const reason = response.headers()['x-xprof-reason'];
    answers.push({ status: response.status(), path: response.url().slice(url.length), reason });
  });
  await page.route(
    (address) => address.protocol.startsWith('http') && address.origin !== url,
    (route) => {
      answers.foreign.push(route.request().url());
      return route.abort();
    },
  );
  return answers;
}
