import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The destination of output: standard output or standard error, or memory in tests.
protocol Output: Sendable {
  /// Whether it is a terminal.
  var isTerminal: Bool { get }
  /// The width of the terminal in characters; 80 if it is not known.
  var columns: Int { get }
  /// The height of the terminal in lines; 24 if it is not known.
  var rows: Int { get }

  /// Writes all the bytes.
  func write(_ bytes: [UInt8]) throws(OutputError)
}

extension Output {
  func write(_ text: String) throws(OutputError) { try write(Array(text.utf8)) }
}

/// The failure to write to an output.
enum OutputError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Its reader has closed it.
  case closed
  /// Another failure, with the system's reason.
  case failed(String)

  var description: String {
    switch self {
    case .closed: "the reader of the output closed it"
    case .failed(let reason): "the output cannot be written: \(reason)"
    }
  }
}

/// A descriptor as output.
struct DescriptorOutput: Output {
  private let descriptor: Int32
  let isTerminal: Bool

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

  var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

  /// nil if the output is not a terminal, or a terminal that does not know its size.
  private var size: winsize? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return size
  }

  func write(_ bytes: [UInt8]) throws(OutputError) {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        writeBytes(descriptor, $0.baseAddress.map { $0 + offset }, $0.count - offset)
      }
      if count > 0 { offset += count; continue }
      switch errno {
      case EINTR: continue
      case EAGAIN:  // another process has made the descriptor non-blocking
        var waited = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&waited, 1, -1)
      case EPIPE: throw .closed
      default: throw .failed(String(cString: strerror(errno)))
      }
    }
  }
}

/// The C function `write`, whose name methods have.
func writeBytes(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
