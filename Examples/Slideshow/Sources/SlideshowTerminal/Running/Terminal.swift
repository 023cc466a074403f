import Dispatch
package import SlideshowModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The terminal of this process. It is taken over for a while, and then restored.
@MainActor
package final class Terminal {
  private var original = termios()
  private var isTaken = false
  private var sources: [any DispatchSourceProtocol] = []
  private var gestures = MouseGestures()
  private var frame: Frame?
  private var lastLines: [String] = []
  private var lastSize: ScreenSize?

  /// Whether there is a terminal for output that understands escape sequences, and one for keys. A terminal that does
  /// not understand them says so in `TERM`.
  package nonisolated static var isPresent: Bool {
    let name = getenv("TERM").map { String(cString: $0) } ?? ""
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && !["", "dumb", "unknown"].contains(name)
  }

  package init() {}

  /// The size, 80×24 if the terminal does not report it.
  package var size: ScreenSize { Self.currentSize }

  private nonisolated static var currentSize: ScreenSize {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return ScreenSize(columns: 80, rows: 24)
    }
    return ScreenSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  // Alternate screen, no cursor, no wrapping at the right edge, the mouse's buttons with positions of any size; and
  // back.
  private static let setUp = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?1000h\u{1B}[?1006h\u{1B}[2J"
  private static let tearDown = "\u{1B}[?1006l\u{1B}[?1000l\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

  /// Takes the terminal over: it then reports keys one by one and the mouse, and shows the alternate screen. Events go
  /// to `tell`. A signal before that may end the program; from then on, none does.
  package func take(tell: @escaping @Sendable (SlideshowEvent) -> Void) async {
    guard !isTaken, tcgetattr(STDIN_FILENO, &original) == 0 else { return }
    isTaken = true
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      sources.append(await SignalWatch.begin(number) { tell(.command(.quit)) })
    }
    sources.append(await SignalWatch.begin(SIGWINCH) { tell(.resized(Terminal.currentSize.viewport)) })
    // After another program's SIGSTOP, the shell has set the terminal for itself.
    sources.append(
      await SignalWatch.begin(SIGCONT) { [weak self] in MainActor.assumeIsolated { self?.takeAgain() } })
    setUpScreen()
    watchInput(tell)
  }

  private func setUpScreen() {
    var raw = original
    cfmakeraw(&raw)
    tcsetattr(STDIN_FILENO, TCSANOW, &raw)
    write(Self.setUp)
  }

  /// Gives the terminal back and stops the process, until the shell continues it. Without a shell that could do so, the
  /// system ignores the signal.
  private func suspend() {
    write(Self.tearDown)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &original)
    // Threads of Dispatch block signals, and one may serve the main queue: there, a blocked signal would wait for ever.
    var stop = sigset_t()
    var earlier = sigset_t()
    sigemptyset(&stop)
    sigaddset(&stop, SIGTSTP)
    pthread_sigmask(SIG_UNBLOCK, &stop, &earlier)
    raise(SIGTSTP)
    pthread_sigmask(SIG_SETMASK, &earlier, nil)
    takeAgain()
  }

  private func takeAgain() {
    guard isTaken else { return }
    setUpScreen()
    lastSize = nil
    if let frame { show(frame) }
  }

  /// Gives the terminal back.
  package func restore() {
    guard isTaken else { return }
    isTaken = false
    for source in sources { source.cancel() }
    sources = []
    write(Self.tearDown)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &original)
  }

  /// Shows the frame; only the changed lines are sent. From then on the mouse has the frame's meaning.
  package func show(_ frame: Frame) {
    guard isTaken else { return }
    self.frame = frame
    let lines = frame.lines
    // Terminals treat their content differently when their size changes: draw everything again.
    let isAnew = size != lastSize || lines.count != lastLines.count
    lastSize = size
    var text = isAnew ? "\u{1B}[?2026h\u{1B}[2J" : "\u{1B}[?2026h"
    for (row, line) in lines.enumerated() where isAnew || lastLines[row] != line {
      text += "\u{1B}[\(row + 1);1H\u{1B}[0m\u{1B}[2K\(line)"
    }
    lastLines = lines
    write(text + "\u{1B}[?2026l")
  }

  private func watchInput(_ tell: @escaping @Sendable (SlideshowEvent) -> Void) {
    let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: .main)
    var reader = InputReader()
    source.setEventHandler { [weak self] in
      var bytes = [UInt8](repeating: 0, count: 1024)
      let count = read(STDIN_FILENO, &bytes, bytes.count)
      guard count > 0 else {
        if count == 0 || errno != EINTR && errno != EAGAIN { tell(.command(.quit)) }
        return
      }
      for input in reader.read(bytes.prefix(count)) {
        // The source's queue is the main actor's.
        MainActor.assumeIsolated { if let event = self?.event(for: input) { tell(event) } }
      }
    }
    source.resume()
    sources.append(source)
  }

  private func event(for input: TerminalInput) -> SlideshowEvent? {
    switch input {
    case .key(.suspend):
      suspend()
      return nil
    case .key(let key): return .key(key)
    case .mouse(let report): return gestures.take(report, at: .now).flatMap { frame?.event(for: $0) }
    }
  }

  private func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Self.write($0) }
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      guard count > 0 else { return }
      rest.removeFirst(count)
    }
  }

  private nonisolated static func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
    Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    #elseif canImport(Musl)
    Musl.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    #else
    Darwin.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    #endif
  }
}
