#if os(Linux)
/// Sorts the header lines that libcurl hands over, one by one, into heads and trailers. Only bytes: parsing is for the
/// task that waits (``HeadParser``).
struct HeadCollector {
  enum Event {
    case none
    case informational([UInt8])
    case final([UInt8], status: Int)
  }

  private var block: [UInt8] = []
  private var isInHead = false
  /// The trailer lines, raw.
  private(set) var trailers: [UInt8] = []
  /// The bytes of all lines so far.
  private(set) var byteCount = 0

  mutating func take(_ line: UnsafeRawBufferPointer) -> Event {
    byteCount += line.count
    if line.starts(with: "HTTP/".utf8) {
      block = Array(line)
      block.reserveCapacity(1024)
      isInHead = true
      trailers = []
      return .none
    }
    guard isInHead else {
      trailers.append(contentsOf: line)
      return .none
    }
    guard line.first == 13 || line.first == 10 else {
      block.append(contentsOf: line)
      return .none
    }
    isInHead = false
    let status = HeadParser.status(of: block)
    if (100..<200).contains(status), status != 101 { return .informational(block) }
    return .final(block, status: status)
  }
}
#endif
