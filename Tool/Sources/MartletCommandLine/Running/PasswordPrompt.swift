@_spi(Toolkit) import MartletEngine
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Asks for a password on the terminal, which does not show the typed characters.
///
/// A signal that ends or stops the program would leave the terminal in that state. So the program catches them while it
/// waits: the terminal first shows typed characters again, and then the signal takes effect.
struct PasswordPrompt {
  private let terminal: Int32
  private let prompt: String
  private let settings: termios
  private let signals: CaughtSignals

  /// Returns nil if there is no terminal.
  static func password(_ prompt: String) -> String? {
    let terminal = SpareDescriptors.making { open("/dev/tty", O_RDWR | O_CLOEXEC) }
    guard terminal >= 0 else { return nil }
    defer { close(terminal) }
    var settings = termios()
    guard tcgetattr(terminal, &settings) == 0, let signals = CaughtSignals() else { return nil }
    let question = PasswordPrompt(terminal: terminal, prompt: prompt, settings: settings, signals: signals)
    question.ask()
    let answer = question.answer()
    question.showInput()
    question.write("\n")
    // A signal at the last moment is not lost.
    if let signal = signals.end(), signal != SIGTSTP { question.obey(signal) }
    return answer
  }

  /// Passes a signal to the waiting prompt, which ends the program; false if none waits.
  ///
  /// While ``Interruption`` watches a signal, the system delivers it either there or to the handler of the prompt.
  static func receive(_ signal: Int32) -> Bool { CaughtSignals.write(signal) }

  private func ask() {
    var hidden = settings
    hidden.c_lflag &= ~UInt32(ECHO)
    tcsetattr(terminal, TCSAFLUSH, &hidden)
    write(prompt)
  }

  private func showInput() {
    var settings = settings
    tcsetattr(terminal, TCSAFLUSH, &settings)
  }

  private func answer() -> String {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while true {
      var watched = [terminal, signals.reader].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      if poll(&watched, 2, -1) < 0, errno != EINTR { break }
      if let signal = signals.next() {
        obey(signal)
      } else if watched[0].revents != 0 {
        guard read(terminal, &byte, 1) == 1, byte != 10 else { break }
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Stops the program, and asks again when it continues; or ends it: nothing has begun that has to be completed.
  private func obey(_ signal: Int32) {
    showInput()
    guard signal == SIGTSTP else { exit(ExitCode.interrupted.rawValue) }
    signals.stopProcess()
    ask()
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = writeBytes(terminal, bytes, bytes.count)
  }
}

/// The descriptor to which the signal handler writes signal numbers; -1 while no prompt waits.
private let caughtSignals = Atomic<Int32>(-1)

/// Catches the signals of a terminal until it is ended.
private final class CaughtSignals {
  /// The end of a pipe that receives a byte for each signal.
  let reader: Int32
  private let writer: Int32
  private var earlier: [Int32: sigaction] = [:]

  init?() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (reader, writer) = (ends[0], ends[1])
    caughtSignals.store(writer, ordering: .sequentiallyConsistent)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP] { earlier[signal] = Self.setHandler(of: signal) }
  }

  /// Returns the earlier action.
  private static func setHandler(of signal: Int32) -> sigaction {
    var (action, earlier) = (sigaction(), sigaction())
    action.__sigaction_handler.sa_handler = { signal in
      let error = errno
      _ = CaughtSignals.write(signal)
      errno = error
    }
    sigaction(signal, &action, &earlier)
    return earlier
  }

  /// Calls only functions that a signal handler may call.
  static func write(_ signal: Int32) -> Bool {
    var byte = UInt8(truncatingIfNeeded: signal)
    let writer = caughtSignals.load(ordering: .sequentiallyConsistent)
    return writer >= 0 && writeBytes(writer, &byte, 1) == 1
  }

  /// Returns the next caught signal; nil if there is none.
  func next() -> Int32? {
    var byte: UInt8 = 0
    return read(reader, &byte, 1) == 1 ? Int32(byte) : nil
  }

  /// Does the same as the system at SIGTSTP, and returns when the process continues.
  func stopProcess() {
    guard var action = earlier[SIGTSTP] else { return }
    sigaction(SIGTSTP, &action, nil)
    var (stop, mask) = (sigset_t(), sigset_t())
    sigemptyset(&stop)
    sigaddset(&stop, SIGTSTP)
    // Sent to this thread, so that the process stops before the thread continues.
    pthread_sigmask(SIG_UNBLOCK, &stop, &mask)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &mask, nil)
    _ = Self.setHandler(of: SIGTSTP)
  }

  /// Restores the earlier actions. Returns a signal that was caught and did not take effect.
  func end() -> Int32? {
    for (signal, action) in earlier {
      var action = action
      sigaction(signal, &action, nil)
    }
    caughtSignals.store(-1, ordering: .sequentiallyConsistent)
    return next()
  }

  deinit {
    close(reader)
    close(writer)
  }
}
