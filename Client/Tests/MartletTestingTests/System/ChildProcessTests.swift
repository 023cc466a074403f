import MartletSemantics
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ChildProcessTests {
  private func shell(
    _ script: String, in folder: URL? = nil, output: ChildProcess.Output = .read
  ) throws -> ChildProcess {
    try ChildProcess("sh", ["-c", script], in: folder, output: output)
  }

  @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", nil)] as [(String, Int32?)])
  func theExitCodeIsReported(script: String, code: Int32?) throws {
    let process = try shell(script)
    #expect(process.exitCode() == code)
    #expect(process.exitCode() == code)
    #expect(process.succeeds() == (code == 0))
  }

  @Test(arguments: [(ChildProcess.Output.read, "out\n"), (.readWithErrors, "out\nerror\n"), (.discarded, "")])
  func theChosenOutputCanBeRead(output: ChildProcess.Output, text: String) throws {
    let process = try shell("echo out; echo error >&2", output: output)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self) == text)
    #expect(process.succeeds())
  }

  @Test func theWorkingDirectoryCanBeChosen() throws {
    let folder = try TemporaryFolder()
    let process = try shell("pwd -P", in: folder.url)
    #expect(String(decoding: process.readToEnd(), as: UTF8.self).hasSuffix("\(folder.url.lastPathComponent)\n"))
  }

  @Test func openFilesAreNotInherited() throws {
    let server = try LoopbackServer { _ in .text("") }
    let process = try shell("ls /proc/$$/fd; exit")
    let descriptors = String(decoding: process.readToEnd(), as: UTF8.self).split(separator: "\n")
    #expect(descriptors == ["0", "1", "2"])
    server.stop()
  }

  @Test func aServersInputEndsWithItsObject() throws {
    let folder = try TemporaryFolder()
    let file = folder.file("ended")
    let fifo = try shell("mkfifo '\(file.path)'")
    #expect(fifo.succeeds())
    var server: ChildProcess? = try shell("read -r line; echo ended > '\(file.path)'", output: .discarded)
    let reader = try shell("cat '\(file.path)'")

    withExtendedLifetime(server) {}
    server = nil

    #expect(String(decoding: reader.readToEnd(), as: UTF8.self) == "ended\n")
  }

  @Test func aKilledProgramHasNoExitCode() throws {
    let process = try shell("exec sleep 1000")
    process.kill()
    #expect(process.exitCode() == nil)
  }

  @Test func aProgramIsKilledWhileThreadsWaitForItsEnd() async throws {
    let process = try shell("sleep 30; exit 7")
    let (threads, codes) = (Awaitable<[String]>([]), Awaitable<[Int32?]>([]))
    for _ in 0..<2 {
      let hasStarted = SystemCalls.startThread {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        threads.update { $0.append("/proc/\(own ?? "self")/stat") }
        let code = process.exitCode()
        codes.update { $0.append(code) }
      }
      #expect(hasStarted)
    }
    let states = try await threads.wait { $0.count == 2 ? $0 : nil }
    // The state of a thread that waits is S, after its number and its name (proc_pid_stat(5)).
    try await until { try states.allSatisfy { try String(contentsOfFile: $0, encoding: .utf8).contains(") S ") } }

    process.kill()

    let ends = try await codes.wait { $0.count == 2 ? $0 : nil }
    #expect(ends == [nil, nil])
  }

  @Test func anUnknownProgramIsAnErrorThatNamesIt() {
    for program in ["/no/such/program", "no-such-program"] {
      let failure = #expect(throws: LoopbackServerError.self) { _ = try ChildProcess(program, [], output: .read) }
      #expect(failure?.description.contains(program) == true)
    }
  }
}
