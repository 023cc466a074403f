import Foundation
import MeasuredClient

/// A program that is run to its end.
struct Command {
  /// Its output, standard output and standard error together.
  let output: String
  let status: Int32
  /// From its start to its end.
  let seconds: Double
  /// The seconds of all processors. The kernel reports a peak of memory that includes that of this program, from before
  /// the other one replaced it. Therefore it is not used.
  let processor: Double

  /// Runs it. `input` is its standard input, at most 64 KiB.
  static func run(_ program: String, _ arguments: [String], input: String = "") throws -> Command {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw BenchError("\(program) is missing: install it")
    }
    let (reading, writing) = (try makePipe(), try makePipe())
    let start = ContinuousClock.now
    let process = try spawn(
      program, arguments, input: writing.read, output: reading.write, errors: reading.write)
    close(reading.write)
    close(writing.read)
    let fed = FileHandle(fileDescriptor: writing.write, closeOnDealloc: true)
    let output = FileHandle(fileDescriptor: reading.read, closeOnDealloc: true)
    if !input.isEmpty { try fed.write(contentsOf: Data(input.utf8)) }
    try fed.close()
    let text = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
    var status: Int32 = 0
    var usage = rusage()
    while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
    return Command(
      output: text.trimmingCharacters(in: .whitespacesAndNewlines), status: status,
      seconds: (ContinuousClock.now - start) / .seconds(1), processor: ProcessUsage.seconds(of: usage))
  }

  /// Starts a program, and returns its number. Foundation's `Process` watches its children with `select`, which does
  /// not work with thousands of connections.
  static func spawn(
    _ program: String, _ arguments: [String], input: Int32, output: Int32, errors: Int32 = 2
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (descriptor, target) in [(input, Int32(0)), (output, 1), (errors, 2)] {
      posix_spawn_file_actions_adddup2(&actions, descriptor, target)
    }
    var process = pid_t()
    var argv = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for argument in argv { free(argument) } }
    let failure = posix_spawn(&process, program, &actions, nil, &argv, environ)
    guard failure == 0 else { throw BenchError("\(program) does not start: \(String(cString: strerror(failure)))") }
    return process
  }

  /// The output of the program, whether it succeeds or not.
  static func output(of program: String, _ arguments: [String]) throws -> String { try run(program, arguments).output }

  /// The first of the usual folders that has the program; nil if none has.
  static func find(_ name: String) -> String? {
    ["/usr/bin/", "/usr/local/bin/", "/usr/sbin/", "/usr/local/sbin/"].map { $0 + name }
      .first(where: FileManager.default.isExecutableFile(atPath:))
  }

  /// A pipe that other children do not inherit.
  static func makePipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw BenchError("the system has no pipe: too many open files") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
