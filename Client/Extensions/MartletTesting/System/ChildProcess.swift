#if canImport(Glibc) || canImport(Musl)
public import MartletSemantics
@_spi(Toolkit) import MartletServer
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

// The C functions `read` and `kill`, whose names methods have.
private func readBytes(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int { read(descriptor, &buffer, buffer.count) }
private func killProcess(_ identifier: pid_t) { _ = kill(identifier, SIGKILL) }

/// A program that a test starts.
///
/// It inherits only its arguments and the environment. It inherits no open file, so that it keeps no other test's
/// connection open, and no blocked signal. (Foundation's `Process` crashed occasionally when several were started at
/// the same time.)
public final class ChildProcess: Sendable {
  /// Where the program's output goes.
  public enum Output: Sendable {
    /// To `/dev/null`.
    case discarded
    /// Standard output can be read; standard error is discarded.
    case read
    /// Standard output and standard error can be read, in one stream.
    case readWithErrors
  }

  private let identifier: pid_t
  private let input: Int32
  private let output: Int32
  /// The result of `waitpid`; nil before that.
  private let status = Mutex<Int32?>(nil)

  /// Starts a program. With ``Output/discarded`` it is treated as a server: its standard input is a pipe that closes
  /// when this object is deallocated or this process exits. Otherwise its standard input is empty.
  ///
  /// - Parameters:
  ///   - program: its path, or its name, which is looked up in `PATH` and in the system's folders (`/usr/sbin` and the
  ///     like).
  ///   - arguments: its arguments, without its own name.
  ///   - folder: its working directory; this process's by default.
  ///   - output: where its output goes.
  /// - Throws: ``LoopbackServerError`` if it cannot be started.
  public init(_ program: String, _ arguments: [String], in folder: URL? = nil, output: Output) throws {
    let path = try Self.path(of: program)
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

  // A child that has exited stays a zombie until it is waited for.
  deinit {
    close(input)
    close(output)
    guard status.withLock({ $0 }) == nil else { return }
    _ = SystemCalls.startThread { [identifier] in
      while waitpid(identifier, nil, 0) < 0, errno == EINTR {}
    }
  }

  /// Blocks until there is output, and returns it; nil when the program has closed its output.
  public func read() -> Data? {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = readBytes(output, &buffer)
      if count > 0 { return Data(buffer.prefix(count)) }
      if count == 0 || errno != EINTR { return nil }
    }
  }

  /// Returns all output until the program closes it.
  public func readToEnd() -> Data {
    var all = Data()
    while let more = read() { all += more }
    return all
  }

  /// Kills the program, unless its end was already reported. It does not block, even if other threads wait for the end.
  public func kill() { status.withLock { if $0 == nil { killProcess(identifier) } } }

  /// Blocks until the program exits. Returns whether it succeeded: false if it failed or was killed.
  public func succeeds() -> Bool { exitCode() == 0 }

  /// Blocks until the program exits, and returns its exit code; nil if it was killed by a signal.
  public func exitCode() -> Int32? {
    waitForExit()
    let status = status.withLock { status in
      if let status { return status }
      var end: Int32 = 0
      while waitpid(identifier, &end, 0) < 0, errno == EINTR {}
      status = end
      return end
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : nil
  }

  /// Blocks until the program exits, without the lock that ``kill()`` needs. The program stays a zombie, so its
  /// identifier is not reused before its status is read.
  private func waitForExit() {
    guard status.withLock({ $0 }) == nil else { return }
    var end = siginfo_t()
    while waitid(P_PID, id_t(identifier), &end, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  /// Returns the path of a program; a name is looked up in `PATH` and in the system's folders.
  ///
  /// - Throws: ``LoopbackServerError`` if it is not found.
  public static func path(of program: String) throws -> String {
    if program.contains("/") { return program }
    let searched = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let paths = (searched + ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"]).map { "\($0)/\(program)" }
    guard let path = paths.first(where: { access($0, X_OK) == 0 }) else {
      throw LoopbackServerError(
        "cannot start \(program): it is neither in PATH nor in the system's folders: install it")
    }
    return path
  }

  private static func makePipe() throws -> (read: Int32, write: Int32) {
    guard let ends = SystemCalls.makePipe() else { throw LoopbackServerError("cannot make a pipe: \(reason(errno))") }
    return ends
  }

  /// The highest open file descriptor; a few more may be opened in the meantime.
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
