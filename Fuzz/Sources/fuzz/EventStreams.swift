#if os(Linux)
@_spi(Toolkit) @testable import MartletSemantics

/// Streams of events and of lines. The result does not depend on how the bytes are cut, and is not larger than they
/// are. The lines are those from a split of the whole.
enum EventStreams {
  static func run(_ input: inout Input) {
    let limit = input.choice(of: [16 << 20, 100, 8])
    let pieces = input.pieces()
    checkEvents(input.bytes, pieces, limit: limit)
    checkLines(input.bytes, pieces, limit: limit)
  }

  private struct Events: Equatable {
    var events: [ServerSentEvent] = []
    var isTooLarge = false
    var lastID = ""
    var pause: Duration?
  }

  private static func checkEvents(_ bytes: [UInt8], _ pieces: [ArraySlice<UInt8>], limit: Int) {
    let (whole, parts) = (events(of: [bytes[...]], limit), events(of: pieces, limit))
    check(parts == whole, "cut: \(parts), whole: \(whole)")
    let size = whole.events.reduce(0) { $0 + $1.data.unicodeScalars.count }
    check(size <= bytes.count, "\(size) characters of \(bytes.count) bytes")
  }

  private static func events(of pieces: [ArraySlice<UInt8>], _ limit: Int) -> Events {
    var parser = ServerSentEventParser(limit: limit)
    var result = Events()
    do throws(ServerSentEventParser.EventTooLarge) {
      for piece in pieces { result.events += try parser.parse(Data(piece)) }
      if let failure = parser.failure { throw failure }
    } catch { result.isTooLarge = true }
    (result.lastID, result.pause) = (parser.lastEventID, parser.reconnectionTime)
    return result
  }

  private static func checkLines(_ bytes: [UInt8], _ pieces: [ArraySlice<UInt8>], limit: Int) {
    var expected = bytes.split(separator: 10, omittingEmptySubsequences: false).map(Array.init)
    let last = expected.removeLast()
    for index in expected.indices where expected[index].last == 13 { expected[index].removeLast() }
    if !last.isEmpty { expected.append(last) }
    let valid = expected.prefix { $0.count <= limit }
    for pieces in [[bytes[...]], pieces] {
      let (lines, isTooLong) = lines(of: pieces, limit)
      check(lines == Array(valid) && isTooLong == (valid.count < expected.count), "\(lines)")
    }
  }

  private static func lines(of pieces: [ArraySlice<UInt8>], _ limit: Int) -> ([[UInt8]], isTooLong: Bool) {
    var splitter = LineSplitter(limit: limit)
    var lines: [[UInt8]] = []
    do throws(LineSplitter.LineTooLong) {
      for piece in pieces {
        splitter.append(Data(piece))
        while let line = try splitter.next() { lines.append(Array(line)) }
      }
      if let line = try splitter.last() { lines.append(Array(line)) }
    } catch { return (lines, true) }
    return (lines, false)
  }
}
#endif
