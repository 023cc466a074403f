import Martlet
import MartletTesting
import SlideshowModel
import Testing

/// The program itself in a pseudo-terminal, which Python provides.
@Suite("The program in a terminal", .timeLimit(.minutes(5)))
struct TerminalTests {
  /// Runs a program in a pseudo-terminal of 80×24. A step that is a number is a signal to send, `<TEXT` waits for text
  /// on the screen, and anything else is typed. Prints the program's output and its exit status.
  private static let script = """
    import fcntl, os, pty, struct, sys, termios, signal
    program, folder, steps = sys.argv[1], sys.argv[2], sys.argv[3:]
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork() if steps[0] == "as a job" else 0
        if job == 0:
            if steps[0] == "as a job":
                os.setpgid(0, 0)
                os.tcsetpgrp(0, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.execv(program, [program, "--state", folder + "/state.json", "--cache", folder + "/cache.sqlite"])
        while True:  # As a shell does.
            status = os.waitpid(job, os.WUNTRACED)[1]
            os.tcsetpgrp(0, os.getpid())
            if not os.WIFSTOPPED(status):
                os._exit(os.waitstatus_to_exitcode(status))
            os.write(1, b"stopped" if termios.tcgetattr(0)[3] & termios.ICANON else b"stopped in raw mode")
            os.tcsetpgrp(0, job)
            os.kill(job, signal.SIGCONT)
    if steps[0] == "as a job":
        steps = steps[1:]
    seen, place = b"", 0  # Text before the place was waited for.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("too late, after %r" % seen[-500:]))
    signal.alarm(240)
    def read():
        try:
            return os.read(terminal, 65536)
        except OSError:
            return b""
    for step in steps:
        if step.isdigit():
            os.kill(child, int(step))
        elif step.startswith("<"):
            text = step[1:].encode()
            while text not in seen[place:]:
                data = read()
                if not data:
                    sys.exit("the program has ended")
                seen += data
            place = seen.index(text, place) + len(text)
        else:
            os.write(terminal, step.encode())
    while data := read():
        seen += data
    sys.stdout.buffer.write(seen + b"\\nstatus %d" % os.waitpid(child, 0)[1])
    """

  private func run(_ steps: [String], in terminal: String = "xterm") throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "slideshow-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "slideshow").path
    let python = try ChildProcess(
      "/usr/bin/env", ["TERM=\(terminal)", "python3", "-c", Self.script, program, folder.path] + steps,
      output: .readWithErrors)
    return String(decoding: python.readToEnd(), as: UTF8.self)
  }

  @Test(arguments: ["q", "\u{3}", "1", "2", "3", "15"])
  func theMouseIsReportedWhileItRunsAndNotAfterwards(end: String) throws {
    let seen = try run(["<1 of 7 pictures shown", end])

    for mode in ["1000", "1006"] {
      let on = try #require(seen.firstRange(of: "\u{1B}[?\(mode)h"))
      let off = try #require(seen.firstRange(of: "\u{1B}[?\(mode)l"))
      #expect(on.upperBound < off.lowerBound)
    }
    // The last thing is the earlier screen.
    #expect(seen.contains("\u{1B}[?1049l"))
    #expect(seen.hasSuffix("status 0"))
  }

  @Test(arguments: ["1", "2", "3", "15"])
  func aSignalAsSoonAsTheTerminalIsTakenEndsItInOrder(number: String) throws {
    let seen = try run(["<\u{1B}[?1049h", number])

    #expect(seen.contains("\u{1B}[?1049l"))
    #expect(seen.hasSuffix("status 0"))
  }

  @Test func controlZStopsItUntilTheShellContinuesIt() throws {
    let seen = try run(["as a job", "<1 of 7 pictures shown", "\u{1A}", "<stopped", "<1 of 7 pictures shown", "q"])

    let off = try #require(seen.firstRange(of: "\u{1B}[?1049l"))
    let stopped = try #require(seen.firstRange(of: "stopped"))
    #expect(off.upperBound <= stopped.lowerBound)
    #expect(!seen.contains("stopped in raw mode"))
    #expect(seen[stopped.upperBound...].contains("\u{1B}[?1049h"))
    #expect(seen.hasSuffix("status 0"))
  }

  @Test func withoutAShellControlZStopsNothing() throws {
    let seen = try run(["<1 of 7 pictures shown", "\u{1A}", "<1 of 7 pictures shown", "q"])

    #expect(seen.hasSuffix("status 0"))
  }

  @Test(arguments: ["dumb", ""]) func aTerminalWithoutEscapeSequencesGetsLines(name: String) throws {
    let seen = try run(["<7 slides, "], in: name)

    #expect(!seen.contains("\u{1B}"))
    #expect(seen.hasSuffix("status 0"))
  }

  @Test func clicksTurnThePages() throws {
    func click(_ column: Int) -> String { "\u{1B}[<0;\(column);9M\u{1B}[<0;\(column);9m" }

    let seen = try run([
      "<1 of 7 pictures shown", click(60), "<2 of 7 pictures shown", click(5), "<1 of 7 ·", click(5), "<7 of 7", "q",
    ])

    #expect(seen.hasSuffix("status 0"))
  }
}
