/// Splits bytes that arrive in chunks of any size into lines, which end with LF or CRLF.
@_spi(Toolkit) public struct LineSplitter: Sendable {
  /// The error of a line that is longer than the limit.
  public struct LineTooLong: Error, Sendable, Hashable {
    /// The number of the line, from 1.
    public let number: Int
  }

  /// The number of lines so far.
  package private(set) var count = 0
  private let limit: Int
  private var bytes: [UInt8] = []
  /// Where the next line begins, and up to where there is no line feed.
  private var start = 0
  private var searched = 0

  /// Makes a splitter.
  ///
  /// - Parameter limit: the maximum number of bytes of a line, without its ending.
  public init(limit: Int) { self.limit = limit }

  /// Adds bytes, after ``next()`` has returned nil.
  public mutating func append(_ chunk: Data) {
    bytes.removeSubrange(..<start)
    searched -= start
    start = 0
    bytes.append(contentsOf: chunk)
  }

  /// Returns the next complete line without its ending; nil if more bytes are needed.
  public mutating func next() throws(LineTooLong) -> ArraySlice<UInt8>? {
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      // The last byte may be the CR of an ending.
      if bytes.count - start > limit, bytes.count - start > limit + 1 || bytes.last != UInt8(ascii: "\r") {
        throw LineTooLong(number: count + 1)
      }
      return nil
    }
    let line = bytes[start..<end]
    start = end + 1
    searched = start
    return try counted(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
  }

  /// Returns the last line if it has no ending, after the last bytes; nil if there is none.
  public mutating func last() throws(LineTooLong) -> ArraySlice<UInt8>? {
    let line = bytes[start...]
    bytes = []
    (start, searched) = (0, 0)
    return line.isEmpty ? nil : try counted(line)
  }

  private mutating func counted(_ line: ArraySlice<UInt8>) throws(LineTooLong) -> ArraySlice<UInt8> {
    count += 1
    if line.count > limit { throw LineTooLong(number: count) }
    return line
  }
}
