#if os(Linux)
@testable import MartletEngine
@_spi(Toolkit) @testable import MartletSemantics
@testable import MartletSockets

/// The parser of heads and chunks. Its result from a connection's bytes does not depend on how they are cut. It
/// consumes nothing after the end of a response, needs all bytes before the end, and returns no field with a line
/// break.
enum HTTP1Responses {
  static func run(_ input: inout Input) {
    let method = input.choice(of: [HTTPMethod.get, .head, .connect, .post])
    let ending = input.choice(of: [ReadResponse.Ending.open, .closed, .unclean])
    let limit = input.choice(of: [256 << 10, 200, 40])
    let allowsUpgrade = input.choice(of: [false, true])
    func read(_ pieces: [ArraySlice<UInt8>], then ending: ReadResponse.Ending) -> ReadResponse {
      ReadResponse.read(
        pieces, then: ending, answering: method, allowsUpgrade: allowsUpgrade, headLimit: limit)
    }

    let pieces = input.pieces()
    let bytes = input.bytes
    let whole = read([bytes[...]], then: ending)
    let parts = read(pieces, then: ending)
    check(parts == whole, "cut: \(parts), whole: \(whole)")
    check(whole.body.count <= bytes.count, "more body than bytes")
    if whole.isComplete, whole.framing != .untilClose {
      let end = bytes.count - whole.rest.count
      var exact = read([bytes[..<end]], then: ending)
      exact.rest = whole.rest
      check(exact == whole, "it consumes too much: \(exact), whole: \(whole)")
      check(!read([bytes[..<(end - 1)]], then: .open).isComplete, "it has ended before")
    }
    checkFields(of: whole)
  }

  private static func checkFields(of response: ReadResponse) {
    guard let lines = response.head else { return }
    let head = ResponseHead(lines: lines)
    check(head.status.code == response.status, "two statuses: \(head.status.code), \(response.status)")
    for fields in [head.fields, HTTPFields(lines: response.trailers[...])] {
      for (name, value) in fields {
        check(!value.utf8.contains { [0, 10, 13].contains($0) }, "\(name): \(value.debugDescription)")
      }
    }
  }
}
#endif
