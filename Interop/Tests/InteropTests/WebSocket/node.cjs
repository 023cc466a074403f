// A server of WebSockets with the package ws, which returns each message: node.cjs PORT [CERTIFICATE KEY]
// Over TLS it also speaks HTTP/2, whose extended CONNECT (RFC 8441) becomes an upgrade for ws.
const fs = require('fs');
const http = require('http');
const http2 = require('http2');
const { WebSocketServer } = require('ws');

const [port, certificate, key] = process.argv.slice(2);
const server = certificate
  ? http2.createSecureServer({
      allowHTTP1: true,
      settings: { enableConnectProtocol: true },
      cert: fs.readFileSync(certificate),
      key: fs.readFileSync(key),
    })
  : http.createServer();
const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: true,
  maxPayload: 64 << 20,
  handleProtocols: (offered) => (offered.has('chat') ? 'chat' : false),
});

function echo(socket) {
  socket.on('message', (data, binary) => socket.send(data, { binary }));
  socket.on('error', () => {});
}

server.on('upgrade', (request, socket, head) => sockets.handleUpgrade(request, socket, head, echo));

server.on('stream', (stream, fields) => {
  stream.on('error', () => {});
  if (fields[':protocol'] !== 'websocket') {
    stream.respond({ ':status': 404 });
    return stream.end();
  }
  stream.setNoDelay = () => {};
  // ws writes the head of a 101 first
  stream.write = (head) => {
    delete stream.write;
    const answer = { ':status': 200 };
    for (const line of head.split('\r\n')) {
      const [, name, value] = /^(sec-websocket-(?:protocol|extensions)): (.*)$/i.exec(line) ?? [];
      if (name) answer[name.toLowerCase()] = value;
    }
    stream.respond(answer);
  };
  const headers = { ...fields, upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  sockets.handleUpgrade({ method: 'GET', url: fields[':path'], headers }, stream, Buffer.alloc(0), echo);
});

server.listen(Number(port), '127.0.0.1');
