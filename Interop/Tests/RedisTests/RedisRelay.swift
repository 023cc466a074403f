import MartletTesting

/// Connections to a Redis server. One of them is lost after a command with a certain text was executed, before its
/// answer.
final class RedisRelay: Sendable {
  private let process: RealProcess

  /// - Parameter text: the text in the bytes of the command after which a connection is lost, once.
  init(to server: RedisServer, losing text: String) throws {
    let port = try LocalPort.free()
    process = try RealProcess("python3", ["-c", Self.script, "\(port)", "\(server.port)", text], port: port)
  }

  var url: String { "redis://127.0.0.1:\(process.port)" }

  private static let script = #"""
    import select, socket, sys

    port, server, text = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()

    def lost(client, redis, mayLose):
      while True:
        ready, _, _ = select.select([client, redis], [], [])
        for source in ready:
          data = source.recv(1 << 20)
          if not data: return False
          (redis if source is client else client).sendall(data)
          if mayLose and source is client and text in data:
            redis.recv(1 << 20)
            return True

    listener = socket.create_server(("127.0.0.1", port))
    hasLost = False
    while True:
      client, _ = listener.accept()
      with client, socket.create_connection(("127.0.0.1", server)) as redis:
        try: hasLost = lost(client, redis, not hasLost) or hasLost
        except OSError: pass
    """#
}
