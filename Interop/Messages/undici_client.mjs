// Node's fetch (undici) with the tasks of observe.py.
import { readFileSync } from "node:fs";

async function perform(task) {
  const signal = AbortSignal.timeout(2000);
  let status, body;
  try {
    const response = await fetch(task.url, { method: task.method, redirect: "manual", signal });
    status = response.status;
    body = Buffer.from(await response.arrayBuffer()).toString("base64");
  } catch (error) {
    if (signal.aborted) return { silent: true };
    const cause = error.cause ?? error;
    return { refused: [cause.code, cause.message].filter(Boolean).join(": ") };
  }
  await new Promise(setImmediate); // the connection returns to the pool a turn after the body's end
  if (task.idle) await (await fetch(task.idle)).text();
  let next = null;
  try {
    const response = await fetch(task.url + "next", { method: task.next, signal: AbortSignal.timeout(2000) });
    next = await response.text();
  } catch {}
  return { status, body, next };
}

console.log(`${process.versions.undici} (llhttp ${process.versions.llhttp}, Node.js ${process.versions.node})`);
for (const task of JSON.parse(readFileSync(0, "utf8"))) console.log(JSON.stringify(await perform(task)));
process.exit(0);
