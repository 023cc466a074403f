import CSockets
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Connects and signs in. Each attempt blocks a separate thread: resolving a name must not delay the loop.
enum RedisOpening {
  /// Starts an attempt. Its result is passed on the attempt's thread.
  static func start(
    _ configuration: RedisConfiguration, ended: @escaping @Sendable (Result<RedisLink, RedisError>) -> Void
  ) {
    let isStarted = SystemThread.start("martlet-redis-c") {
      ended(Result { () throws(RedisError) in try open(configuration) })
    }
    guard !isStarted else { return }
    ended(.failure(RedisError(.unavailable, "the system cannot start a thread to connect to \(configuration)")))
  }

  private static func open(_ configuration: RedisConfiguration) throws(RedisError) -> RedisLink {
    let link = try RedisLink.connect(to: configuration)
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)
    defer { room.deallocate() }
    try RedisSignIn(configuration: configuration, link: link, room: room).run()
    return link
  }
}

/// The commands and answers before a connection can be used. A surplus answer would shift the answers of all later
/// commands, so the server has to give exactly the answers of these commands.
private struct RedisSignIn {
  let configuration: RedisConfiguration
  let link: RedisLink
  let room: UnsafeMutableRawBufferPointer

  func run() throws(RedisError) {
    let (user, password) = (configuration.user, configuration.password)
    if !user.isEmpty || !password.isEmpty {
      let words = (user.isEmpty ? [] : [user]) + [password]
      let command = RedisCommand("AUTH", words.map { Data(text: $0) })
      try ask(command, expecting: "OK", "refuses the user or the password", hiding: words)
    }
    if configuration.database != 0 {
      try ask(RedisCommand("SELECT", "\(configuration.database)"), expecting: "OK", "has no such database")
    }
    try ask(RedisCommand("PING"), expecting: "PONG", "does not answer")
    try link.receive(into: room, nextLimit: { nil }, { _ in })
  }

  private func ask(
    _ command: RedisCommand, expecting status: String, _ failure: String, hiding secrets: [String] = []
  ) throws(RedisError) {
    switch try answer(to: command.answeredBriefly) {
    case .status(status): return
    case .error(let message):
      let text = secrets.filter { !$0.isEmpty }.reduce(message) { $0.replacing($1, with: "***") }
      throw RedisError(.refused, "\(configuration) \(failure): \(text)")
    default: throw RedisError(.other, of: configuration)
    }
  }

  private func answer(to command: RedisCommand) throws(RedisError) -> RedisReply {
    var unsent: [UInt8] = []
    command.write(to: &unsent)
    while !unsent.isEmpty {
      try link.wait(for: POLLOUT)
      try link.send(&unsent)
    }
    var answer: RedisReply?
    while true {
      try link.wait(for: POLLIN)
      try link.receive(into: room, nextLimit: { answer == nil ? command.answerLimit : nil }, { answer = $0 })
      if let answer { return answer }
    }
  }
}

/// A thread that runs one function.
enum SystemThread {
  private final class Work: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
  }

  /// - Returns: false if the system cannot start a thread.
  static func start(_ name: String, _ run: @escaping @Sendable () -> Void) -> Bool {
    let handedOver = Unmanaged.passRetained(Work(name, run)).toOpaque()
    var thread = pthread_t()
    guard pthread_create(&thread, nil, main, handedOver) == 0 else {
      Unmanaged<Work>.fromOpaque(handedOver).release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { handedOver in
    guard let handedOver else { return nil }
    let work = Unmanaged<Work>.fromOpaque(handedOver).takeRetainedValue()
    martlet_name_thread(work.name)
    work.run()
    return nil
  }
}
