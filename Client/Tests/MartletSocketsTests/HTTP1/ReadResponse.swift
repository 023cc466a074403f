import MartletEngine

@_spi(Toolkit) @testable import MartletSemantics
@testable import MartletSockets

/// A parser's result for a response.
struct ReadResponse: Equatable {
  var informational: [[UInt8]] = []
  var head: [UInt8]?
  var status = 0
  var framing: BodyFraming?
  var body: [UInt8] = []
  var trailers: [UInt8] = []
  /// Whether the end of the response was reported.
  var isComplete = false
  var failure: HTTP1Failure?
  /// The rest of the input after the end.
  var rest: [UInt8] = []
  var keepsConnection = false
  var hasUpgraded = false

  /// The event after the bytes.
  enum Ending {
    /// Nothing: the connection stays open.
    case open
    /// The peer ends the connection.
    case closed
    /// The connection ends without TLS's `close_notify`.
    case unclean
  }

  /// Reads pieces of a connection's input.
  static func read(
    _ pieces: some Sequence<ArraySlice<UInt8>>, then ending: Ending = .open, answering method: HTTPMethod = .get,
    allowsUpgrade: Bool = false, headLimit: Int = 256 << 10
  ) -> ReadResponse {
    var parser = HTTP1ResponseParser(answering: method, allowsUpgrade: allowsUpgrade, headLimit: headLimit)
    var result = ReadResponse()
    do throws(HTTP1Failure) {
      for piece in pieces { try result.take(Array(piece), by: &parser) }
      if ending != .open, !result.isComplete {
        result.trailers = try parser.endOfInput(isClean: ending == .closed)
        result.isComplete = true
      }
    } catch {
      result.failure = error
    }
    result.keepsConnection = result.isComplete && parser.keepsConnection
    result.hasUpgraded = parser.hasUpgraded
    return result
  }

  /// Reads a whole input in one piece.
  static func read(
    _ input: some Sequence<UInt8>, then ending: Ending = .open, answering method: HTTPMethod = .get,
    allowsUpgrade: Bool = false, headLimit: Int = 256 << 10
  ) -> ReadResponse {
    read(
      [Array(input)[...]], then: ending, answering: method, allowsUpgrade: allowsUpgrade, headLimit: headLimit)
  }

  private mutating func take(_ piece: [UInt8], by parser: inout HTTP1ResponseParser) throws(HTTP1Failure) {
    var position = 0
    while let event = try parser.next(in: piece.span.bytes, from: &position) { take(event, of: piece) }
    rest += piece[position...]
  }

  private mutating func take(_ event: HTTP1ResponseParser.Event, of piece: [UInt8]) {
    switch event {
    case .informational(let lines, _): informational.append(lines)
    case .head(let lines, let status, let framing): (head, self.status, self.framing) = (lines, status, framing)
    case .body(let range): body += piece[range]
    case .end(let trailers): (self.trailers, isComplete) = (trailers, true)
    }
  }
}

/// The pieces of an input, cut at some offsets.
func cut(_ bytes: [UInt8], at offsets: [Int]) -> [ArraySlice<UInt8>] {
  zip([0] + offsets, offsets + [bytes.count]).map { bytes[$0..<$1] }
}
