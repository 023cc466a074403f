#if canImport(Glibc)
import Glibc
public import MartletSemantics
import Synchronization

/// A program that a test starts.
///
/// It inherits nothing but its arguments and the environment: no open file, so that it keeps no connection of another test
/// open, and no blocked signal. (Foundation's `Process` crashed now and then where several were started at the same time.)
public final class ChildProcess: Sendable {
  /// Where what it says goes.
  public enum Output: Sendable {
    /// Nowhere.
    case discarded
    /// To who reads: its standard output.
    case read
    /// To who reads: its standard output, and its complaints with it.
    case readWithErrors
  }

  private let identifier: pid_t
  private let input: Int32
  private let output: Int32
  private let status = Mutex<Int32?>(nil)

  /// Starts a program. One that nobody reads from is a server: its standard input is a pipe that closes when this object goes,
  /// or this process ends. Any other finds its input at its end.
  ///
  /// - Parameters:
  ///   - path: the program's file.
  ///   - arguments: what it is given, without its own name.
  ///   - folder: where it runs; where this process runs by default.
  ///   - output: where what it says goes.
  /// - Throws: ``LoopbackServerError`` if it cannot be started.
  public init(_ path: String, _ arguments: [String], in folder: URL? = nil, output: Output) throws {
    let (inputs, outputs) = (try Self.makePipe(), try Self.makePipe())
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if output == .discarded {
      posix_spawn_file_actions_adddup2(&actions, inputs.read, 0)
    } else {
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    }
    for descriptor in Int32(1)...2 {
      if output == .readWithErrors || output == .read && descriptor == 1 {
        posix_spawn_file_actions_adddup2(&actions, outputs.write, descriptor)
      } else {
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
      }
    }
    for descriptor in 3...Self.highestDescriptor + 64 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    let moves = folder.map { ["-c", #"cd "$0" && exec "$@""#, $0.path, path] }
    let result = Self.spawn(moves == nil ? path : "/bin/sh", (moves ?? []) + arguments, &actions)
    close(inputs.read)
    close(outputs.write)
    (input, self.output) = (inputs.write, outputs.read)
    identifier = (try? result.get()) ?? -1
    if case .failure(let error) = result {
      status.withLock { $0 = -1 }
      throw error
    }
  }

  /// A child that has ended and was never waited for would stand in the way of whoever waits for any child.
  deinit {
    close(input)
    close(output)
    guard status.withLock({ $0 }) == nil else { return }
    _ = SystemCalls.startThread { [identifier] in
      while waitpid(identifier, nil, 0) < 0, errno == EINTR {}
    }
  }

  /// What it says next; waits for it. nil when it has closed its output.
  public func read() -> Data? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(output, &buffer, buffer.count)
      if count > 0 { return Data(buffer.prefix(count)) }
      if count == 0 || errno != EINTR { return nil }
    }
  }

  /// All that it says until it closes its output.
  public func readToEnd() -> Data {
    var all = Data()
    while let more = read() { all += more }
    return all
  }

  /// Kills it, if it has not been waited for.
  public func kill() { status.withLock { if $0 == nil { _ = Glibc.kill(identifier, SIGKILL) } } }

  /// Waits until it ends; false if it failed or was killed.
  public func succeeds() -> Bool {
    status.withLock { status in
      if let status { return status == 0 }
      var end: Int32 = 0
      while waitpid(identifier, &end, 0) < 0, errno == EINTR {}
      status = end
      return end == 0
    }
  }

  private static func makePipe() throws -> (read: Int32, write: Int32) {
    guard let ends = SystemCalls.makePipe() else { throw LoopbackServerError("no pipe left: \(reason(errno))") }
    return ends
  }

  /// The highest file that is open here; a few more may be opened while this is looked up.
  private static var highestDescriptor: Int32 {
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return open.compactMap { Int32($0) }.max() ?? 1024
  }

  private static func spawn(
    _ path: String, _ arguments: [String], _ actions: inout posix_spawn_file_actions_t
  ) -> Result<pid_t, LoopbackServerError> {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    let environment = ProcessInfo.processInfo.environment.map { "\($0)=\($1)" }
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) } + [nil]
    defer { (words + variables).forEach { free($0) } }
    var identifier: pid_t = 0
    let error = posix_spawn(&identifier, path, &actions, &attributes, &words, &variables)
    guard error == 0 else { return .failure(LoopbackServerError("cannot start \(path): \(reason(error))")) }
    return .success(identifier)
  }

  private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
#endif
