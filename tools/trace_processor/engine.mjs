// Perfetto's trace processor as a local HTTP server: the WebAssembly engine of Perfetto's page, run in Node.
//
//     node engine.mjs FOLDER
//
// FOLDER holds engine_bundle.js and trace_processor.wasm. Prints the port on 127.0.0.1 that it serves, answers what Python's
// perfetto.trace_processor.TraceProcessor(addr='127.0.0.1:PORT') asks for, and ends when its standard input does.
//
// The page runs the bundle in a worker and passes it a message port; over that go bytes of TraceProcessorRpcStream, and the
// engine answers before a call returns. So the bundle gets a worker's globals here and a port that collects what is said.
import {createServer} from 'node:http';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {compileFunction} from 'node:vm';

// Fields and methods of TraceProcessorRpc.
const REQUEST = 2;
const FATAL_ERROR = 5;
const APPEND = {method: 1, args: 101, result: 201};
const FINALIZE = {method: 2, result: 212};
const QUERY = {method: 3, args: 103, result: 203};
const STATUS = {method: 10, result: 210};
const ROUTES = {'/parse': APPEND, '/notify_eof': FINALIZE, '/query': QUERY, '/status': STATUS};

// How much of a trace one message carries.
const CHUNK = 16 << 20;

const folder = process.argv[2];

/** Reads a file of the engine, in the way a worker would. */
class FileRequest {
  open(_method, url) {
    this.url = url;
  }
  send() {
    const bytes = readFileSync(join(folder, new URL(this.url, 'file:///').pathname));
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
}

/** Starts the engine; gives its end of the port once it is ready. */
async function startEngine() {
  const say = line => process.stderr.write(`${line}\n`);
  const globals = {
    self: {location: {href: 'file:///engine_bundle.js'}}, XMLHttpRequest: FileRequest, WorkerGlobalScope: Object,
    console: {log: say, warn: say, error: say}, process: undefined,
  };
  compileFunction(readFileSync(join(folder, 'engine_bundle.js'), 'utf8'), Object.keys(globals))(...Object.values(globals));
  const port = {said: [], postMessage(bytes) { this.said.push(bytes); }};
  globals.self.onmessage({data: port});
  // The engine gets its buffer in a promise that its start resolves.
  await new Promise(resolve => setTimeout(resolve, 0));
  return port;
}

function varint(number) {
  const bytes = [];
  for (; number > 127; number = Math.floor(number / 128)) bytes.push((number % 128) | 128);
  return [...bytes, number];
}

function field(number, bytes) {
  return Buffer.concat([Buffer.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
}

/** The fields of a message as [number, bytes]; numbers have no bytes. */
function* fields(bytes) {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = number();
    if (key % 8 === 0) {
      number();
    } else if (key % 8 === 2) {
      const length = number();
      yield [Math.floor(key / 8), bytes.subarray(at, at += length)];
    } else {
      throw new Error(`a field of kind ${key % 8} in an answer of the engine`);
    }
  }
}

let sent = 0;

/** Calls a method; gives its results, one after another. */
function call(port, {method, args, result}, body) {
  const head = Buffer.from([...varint(8), ...varint(++sent), ...varint(REQUEST * 8), method]);
  port.said.length = 0;
  port.onmessage({data: new Uint8Array(field(1, Buffer.concat([head, args ? field(args, body) : Buffer.alloc(0)])))});
  const results = [];
  for (const [, message] of fields(Buffer.concat(port.said))) {
    for (const [number, bytes] of fields(message)) {
      if (number === FATAL_ERROR) throw new Error(`trace processor: ${bytes}`);
      if (number === result) results.push(bytes);
    }
  }
  return Buffer.concat(results);
}

const port = await startEngine();
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  try {
    const route = ROUTES[request.url];
    if (!route) throw new Error(`no such call: ${request.url}`);
    let answer = Buffer.alloc(0);
    if (route === APPEND) {
      for (let at = 0; at < body.length; at += CHUNK) answer = call(port, route, body.subarray(at, at + CHUNK));
    } else {
      answer = call(port, route, body);
    }
    response.writeHead(200, {'Content-Length': answer.length}).end(answer);
  } catch (error) {
    process.stderr.write(`${error.stack}\n`);
    response.writeHead(500).end();
  }
});
// A caller may think for long between two calls.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
