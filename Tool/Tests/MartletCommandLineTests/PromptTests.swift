import MartletEngine
import MartletTesting
import TestSupport
import Testing

/// The program on its own terminal, with a user's keys and with signals.
@Suite("The question for a password", .timeLimit(.minutes(5)))
struct PromptTests {
  /// Starts the program as a job of a session with a new terminal, waits for the prompt, and performs an action. Prints
  /// whether the terminal echoes typed characters: before, at the prompt, and afterwards; then how the program ended.
  private static let script = #"""
    import fcntl, os, pty, signal, sys, termios
    master, slave = pty.openpty()
    action, program = sys.argv[1], sys.argv[2:]
    signal.alarm(120)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    def echo(): return "shown" if termios.tcgetattr(slave)[3] & termios.ECHO else "hidden"
    def prompt():
        text = b""
        while b"password of ada" not in text: text += os.read(master, 1000)
    states = [echo()]
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(slave, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        for descriptor in range(3): os.dup2(slave, descriptor)
        os.execv(program[0], program)
    prompt()
    states.append(echo())
    if action == "ctrl-c": os.write(master, b"\x03")
    elif action == "ctrl-z": os.write(master, b"\x1a")
    else: os.kill(job, getattr(signal, action))
    status = os.waitpid(job, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        states += [echo(), "stopped"]
        os.tcsetpgrp(slave, job)
        os.kill(job, signal.SIGCONT)
        prompt()
        states.append(echo())
        os.write(master, b"secret\n")
        status = os.waitpid(job, 0)[1]
    states.append(echo())
    print(*states, os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status))
    """#

  /// `arguments` make it a call with work at its end, or without.
  private func result(_ action: String, _ arguments: [String]) throws -> String {
    let program = try builtProgram("martlet")
    let run = try ChildProcess(
      "python3", ["-c", Self.script, action, program, "get", ":1/", "--auth", "ada"] + arguments,
      output: .readWithErrors)
    return String(decoding: run.readToEnd(), as: UTF8.self).trimmingSuffix { $0 == "\n" }
  }

  @Test(arguments: ["ctrl-c", "SIGINT", "SIGTERM"], [[], ["--output", "/dev/null"]])
  func anEndLeavesATerminalThatShowsWhatIsTyped(action: String, arguments: [String]) throws {
    #expect(try result(action, arguments) == "shown hidden shown 130")
  }

  @Test(arguments: ["ctrl-z", "SIGTSTP"])
  func aStopShowsWhatIsTypedUntilTheProgramContinues(action: String) throws {
    // nothing listens on port 1
    #expect(try result(action, []) == "shown hidden shown stopped hidden shown 7")
  }
}

extension String {
  fileprivate func trimmingSuffix(_ isTrimmed: (Character) -> Bool) -> String {
    var text = self[...]
    while let last = text.last, isTrimmed(last) { text.removeLast() }
    return String(text)
  }
}
