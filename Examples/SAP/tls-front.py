"""Accepts TLS connections of clients with a certificate, and forwards their bytes to a gateway without TLS.

  tls-front.py GATEWAY-PORT FOLDER

It makes an authority and its certificates in FOLDER, which is empty, and prints its port and the password of client.p12
when it listens. When nobody reads its standard output any more, because the program that started it has ended in any
way, it removes the files and ends.
"""

import contextlib, os, secrets, select, signal, socket, ssl, struct, subprocess, sys, threading, time

CONFIGURATION = """
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = DNS:localhost, IP:127.0.0.1
[client]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = email:client@example.invalid
"""
HANDSHAKE_SECONDS = 30
CONNECTIONS = 256
CHUNK = 1 << 16
# A side is not read while the other has this many bytes to receive.
HELD_BYTES = 1 << 18


def openssl(*arguments, **variables):
  try: run = subprocess.run(["openssl", *arguments], capture_output=True, text=True, env={**os.environ, **variables})
  except OSError as error: sys.exit(f"openssl cannot be started: {error}")
  if run.returncode: sys.exit(f"openssl {arguments[0]} failed: {run.stderr.strip()}")


def make_certificates():
  """Writes authority.pem, server.pem and client.pem (certificate and key) and client.p12. Returns its password."""
  key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", "openssl.cnf"]
  with open("openssl.cnf", "w") as file: file.write(CONFIGURATION)
  openssl("req", "-x509", *key, "-keyout", "authority.key", "-out", "authority.pem", "-days", "30",
    "-subj", "/CN=Authority of sap-gateway", "-extensions", "authority")
  for name, subject in ("server", "localhost"), ("client", "client"):
    openssl("req", *key, "-keyout", name + ".key", "-out", name + ".csr", "-subj", "/CN=" + subject)
    openssl("x509", "-req", "-in", name + ".csr", "-out", name + ".pem", "-days", "30", "-CA", "authority.pem",
      "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "openssl.cnf", "-extensions", name)
  password = secrets.token_hex(8)
  openssl("pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-out", "client.p12",
    "-passout", "env:PASSWORD", PASSWORD=password)
  for name in "server", "client":
    with open(name + ".pem", "a") as file, open(name + ".key") as key: file.write(key.read())
  for name in "authority.key", "server.key", "client.key", "server.csr", "client.csr", "openssl.cnf": os.remove(name)
  return password


class Relay:
  """A client's connection and that to the gateway. One thread serves both, because a TLS connection belongs to one."""

  def __init__(self, context, client, gateway_port):
    self.client, self.gateway_port, self.gateway = client, gateway_port, None
    self.received, self.sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    self.tls = context.wrap_bio(self.received, self.sent, server_side=True)
    self.to_client, self.to_gateway = bytearray(), bytearray()
    # The ends that were received, and those that were sent.
    self.client_ended = self.gateway_ended = self.client_closed = self.gateway_closed = False

  def run(self):
    try:
      self.client.setblocking(False)
      self.client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      if not self.shake_hands(): return
      self.gateway = socket.create_connection(("127.0.0.1", self.gateway_port))
      self.gateway.setblocking(False)
      self.gateway.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
      self.decrypt()
      while not (self.client_closed and self.gateway_closed): self.turn()
    except (OSError, ssl.SSLError):
      # What ended without a proper end on one side does so on the other.
      for side in self.client, self.gateway:
        if side: side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    finally:
      self.client.close()
      if self.gateway: self.gateway.close()

  def shake_hands(self):
    """Returns whether the client has a certificate. If not, the client gets the alert that says so."""
    deadline = time.monotonic() + HANDSHAKE_SECONDS
    while True:
      refusal = wants_more = None
      try: self.tls.do_handshake()
      except ssl.SSLWantReadError: wants_more = True
      except ssl.SSLError as error: refusal = error
      self.client.settimeout(max(deadline - time.monotonic(), 0.001))
      self.client.sendall(self.sent.read())
      if refusal:
        # A socket that is closed with unread bytes is reset, and then the alert may not arrive.
        self.client.shutdown(socket.SHUT_WR)
        while self.client.recv(CHUNK): pass
        return False
      if not wants_more:
        self.client.setblocking(False)
        return True
      more = self.client.recv(CHUNK)
      if not more: return False
      self.received.write(more)

  def turn(self):
    """Waits for a side that can go on, and moves bytes."""
    readers, writers = [], []
    if not self.client_ended and len(self.to_gateway) < HELD_BYTES: readers.append(self.client)
    if not self.gateway_ended and len(self.to_client) < HELD_BYTES: readers.append(self.gateway)
    if self.to_client: writers.append(self.client)
    if self.to_gateway: writers.append(self.gateway)
    poll = select.poll()
    for side in {*readers, *writers}:
      poll.register(side, (side in readers and select.POLLIN) | (side in writers and select.POLLOUT))
    ready = {file for file, _ in poll.poll()}
    if self.client in readers and self.client.fileno() in ready: self.read_client(receive(self.client))
    if self.gateway in readers and self.gateway.fileno() in ready: self.read_gateway(receive(self.gateway))
    send(self.client, self.to_client)
    send(self.gateway, self.to_gateway)
    if self.gateway_ended and not self.to_client and not self.client_closed:
      self.client_closed = True
      self.client.shutdown(socket.SHUT_WR)
    if self.client_ended and not self.to_gateway and not self.gateway_closed:
      self.gateway_closed = True
      self.gateway.shutdown(socket.SHUT_WR)

  def read_client(self, encrypted):
    if encrypted is None: return
    if encrypted: self.received.write(encrypted)
    else: self.received.write_eof()
    self.decrypt()

  def decrypt(self):
    try:
      while not self.client_ended:
        plain = self.tls.read(CHUNK)
        self.to_gateway += plain
        # An empty result is close_notify: the client sends no more, but still reads.
        self.client_ended = not plain
    except ssl.SSLZeroReturnError: self.client_ended = True
    except ssl.SSLWantReadError: pass
    self.to_client += self.sent.read()

  def read_gateway(self, plain):
    if plain is None: return
    if plain: self.tls.write(plain)
    else:
      self.gateway_ended = True
      # It writes close_notify. The error says that the client's has not come yet.
      with contextlib.suppress(ssl.SSLWantReadError): self.tls.unwrap()
    self.to_client += self.sent.read()


def receive(side):
  """Returns bytes, empty ones at the end, None if there are none yet."""
  try: return side.recv(CHUNK)
  except BlockingIOError: return None


def send(side, bytes):
  if not bytes: return
  with contextlib.suppress(BlockingIOError): del bytes[:side.send(bytes)]


def main(gateway_port, folder):
  # Ctrl-C and a closed terminal end the program that started this one. Then this one removes the files.
  for number in signal.SIGINT, signal.SIGHUP: signal.signal(number, signal.SIG_IGN)
  os.umask(0o077)
  os.chdir(folder)
  if os.listdir(): sys.exit(f"{folder} is not empty")
  threading.Thread(target=end_with_reader, daemon=True).start()
  password = make_certificates()
  context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
  context.verify_mode = ssl.CERT_REQUIRED
  context.load_verify_locations("authority.pem")
  context.load_cert_chain("server.pem")
  context.set_alpn_protocols(["http/1.1"])
  listener = socket.create_server(("127.0.0.1", 0), backlog=128)
  print(listener.getsockname()[1], password, flush=True)
  # Nobody reads on: a full pipe would stop a thread that reports an error.
  os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
  room = threading.Semaphore(CONNECTIONS)

  def serve(client):
    try: Relay(context, client, gateway_port).run()
    finally: room.release()

  while True:
    room.acquire()
    client, _ = listener.accept()
    threading.Thread(target=serve, args=[client], daemon=True).start()


def end_with_reader():
  poll = select.poll()
  poll.register(sys.stdout, 0)
  poll.poll()
  # The program that started this one may remove them at the same time.
  for name in os.listdir():
    with contextlib.suppress(OSError): os.remove(name)
  with contextlib.suppress(OSError): os.rmdir(os.getcwd())
  os._exit(0)


main(int(sys.argv[1]), sys.argv[2])
