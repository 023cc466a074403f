// Node's http2 module, which also supports HTTP/1.1. Arguments: port, folder of keys, file for /bytes.
import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

const [port, keys, body] = process.argv.slice(2);
const requestsPerConnection = 100;
const bodyLimit = 1 << 20;
const text = "martlet ".repeat(10_000);

async function sink(request, response, isSlow) {
  const digest = createHash("sha256");
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    digest.update(piece);
    if (isSlow) await sleep(1);
  }
  response.end(`${size} ${digest.digest("hex")} ${request.trailers["x-sum"] ?? ""}`);
}

async function send(response, isSlow) {
  for await (const piece of createReadStream(body)) {
    if (response.destroyed) return;
    if (isSlow) await sleep(1);
    if (!response.write(piece)) {
      await new Promise((resume) => response.once("drain", resume).once("close", resume));
    }
  }
  response.end();
}

function refuse(response, status) {
  response.statusCode = status;
  response.end("no");
}

async function answer(request, response) {
  const { pathname, searchParams } = new URL(request.url, "https://localhost");
  const isSlow = searchParams.get("pace") === "slow";
  switch (pathname) {
    case "/hello": return response.end("hello");
    case "/early": return refuse(response, 403);
    case "/small": return Number(request.headers["content-length"]) > bodyLimit
      ? refuse(response, 413) : sink(request, response, false);
    case "/sink": return sink(request, response, isSlow);
    case "/bytes": return send(response, isSlow);
    case "/text":
      response.setHeader("content-type", "text/plain");
      response.setHeader("content-encoding", "gzip");
      return response.end(gzipSync(text));
    case "/trailers":
      response.setHeader("trailer", "X-Sum");
      response.write("body");
      response.addTrailers({ "x-sum": "42" });
      return response.end();
    default: return refuse(response, 404);
  }
}

const server = createSecureServer({
  key: readFileSync(`${keys}/server.key`),
  cert: readFileSync(`${keys}/server.pem`),
  ca: readFileSync(`${keys}/ca.pem`),
  requestCert: true,
  rejectUnauthorized: true,
  allowHTTP1: true,
  keepAliveTimeout: 1000,
}, (request, response) => {
  request.on("error", () => {});
  response.on("error", () => {});
  answer(request, response).catch(() => response.destroy());
});
server.on("session", (session) => {
  let count = 0;
  session.on("error", () => {});
  session.on("stream", () => { if (++count === requestsPerConnection) session.close(); });
  session.setTimeout(1000, () => session.close());
});
server.listen(Number(port), "127.0.0.1");
