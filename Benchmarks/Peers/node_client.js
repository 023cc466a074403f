// A client's process with node and its package ws: node_client.js.
//
// Prints a greeting, then performs each assignment from a line of JSON on standard input, and prints its measurement.
// Exits with status 3 if the package is not installed.
'use strict';

const fs = require('fs');
let WebSocket;
try {
  WebSocket = require('ws');
} catch {
  process.exit(3);
}
const sockets = new Map();

async function socket(url, compressed) {
  if (sockets.has(compressed)) return sockets.get(compressed);
  const made = new WebSocket(url.replace('http', 'ws'), { perMessageDeflate: compressed });
  await new Promise((done, failed) => made.once('open', done).once('error', failed));
  sockets.set(compressed, made);
  return made;
}

/** Sends messages, with at most some on the way, and returns the number of received bytes. */
async function echo({ url, times, atOnce, length, kind }) {
  const used = await socket(url, kind === 'echoCompressed');
  const words = Array.from({ length: Math.floor(length / 6) + 1 }, (_, index) => `"n":${index % 97},`);
  const content = Buffer.from(words.join('')).subarray(0, length);
  return new Promise((done, failed) => {
    let [sent, received, bytes] = [0, 0, 0];
    const fill = () => {
      for (; sent < times && sent - received < atOnce; sent += 1) used.send(content);
    };
    const receive = (data) => {
      received += 1;
      bytes += data.length;
      if (received < times) return fill();
      used.off('message', receive).off('error', failed);
      done(bytes);
    };
    used.on('message', receive).on('error', failed);
    fill();
  });
}

function memory(key) {
  const line = fs.readFileSync('/proc/self/status', 'utf8').split('\n').find((line) => line.startsWith(key));
  return Number(line.split(/\s+/)[1]) * 1024;
}

async function measure(assignment) {
  try {
    fs.writeFileSync('/proc/self/clear_refs', '5');
  } catch {}  // The peak is then that of the whole process.
  const before = process.resourceUsage();
  const start = process.hrtime.bigint();
  try {
    const bytes = await echo(assignment);
    const seconds = Number(process.hrtime.bigint() - start) / 1e9;
    const after = process.resourceUsage();
    const processor = (after.userCPUTime + after.systemCPUTime - before.userCPUTime - before.systemCPUTime) / 1e6;
    const pageFaults = after.minorPageFault - before.minorPageFault;
    return { bytes, seconds, processor, pageFaults, peak: memory('VmHWM:'), resident: memory('VmRSS:') };
  } catch (error) {
    return { bytes: 0, seconds: 0, processor: 0, pageFaults: 0, peak: 0, resident: 0, error: String(error) };
  }
}

async function main() {
  const { version } = require('ws/package.json');
  console.log(JSON.stringify({ version: `node ${process.version}, ws ${version}` }));
  for await (const line of require('readline').createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await measure(JSON.parse(line))));
  }
  process.exit(0);
}

main();
