#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// Responses as bytes of frames: a row for each rule of RFC 9113.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2ResponseTests {
  @Test(arguments: HTTP2Row.valid + HTTP2Row.malformed + HTTP2Row.broken + HTTP2Row.unfinished)
  func aResponseIsReadAsRFC9113Says(_ row: HTTP2Row) throws {
    for size in [Int.max, 1] { try check(row, cut: [], pieces: size) }
    for cut in 1..<max(2, min(row.frames.count, 400)) { try check(row, cut: [cut], pieces: .max) }
  }

  /// Passes the frames, cut at a position or in pieces of a given size.
  private func check(_ row: HTTP2Row, cut: [Int], pieces size: Int) throws {
    let client = try HTTP2Client()
    let parts: [HTTP2TestPart] = row.isUploading ? [.bytes([1, 2, 3], .more)] : []
    let (_, recorder) = try client.submit(row.method, framing: row.isUploading ? .unknownLength : .none, parts: parts)
    client.pull()
    #expect(client.receive(Frames.settings()) == nil)

    var error: HTTPError?
    for piece in row.frames.split(at: cut) where error == nil { error = client.receive(piece, pieces: size) }
    if row.isCut { client.session.connectionEnded() }

    let context = Comment("cut at \(cut), pieces of \(size): \(recorder.failure?.error.message ?? "-")")
    #expect(recorder.events == row.events, context)
    #expect(recorder.bodyText == row.body, context)
    if let failure = recorder.failure { #expect(failure.error.message.hasPrefix("host:443: "), context) }
    guard !row.isCut else { return #expect(client.session.isOver) }
    if row.breaksConnection { return #expect(client.session.isDraining, context) }
    #expect(error == nil, context)
    try checkNext(client, context)
  }

  /// Sends another request over the same connection.
  private func checkNext(_ client: HTTP2Client, _ context: Comment) throws {
    #expect(client.session.streams.isEmpty, context)
    let (id, recorder) = try client.submit()
    client.pull()
    #expect(client.receive(Frames.headers(stream: Int(id), ends: true)) == nil, context)
    #expect(recorder.events == ["head HTTP/2 200 |", "end"], context)
  }
}

extension [UInt8] {
  /// Returns the pieces between the positions.
  fileprivate func split(at places: [Int]) -> [[UInt8]] {
    zip([0] + places, places + [count]).map { Array(self[Swift.min($0, count)..<Swift.min($1, count)]) }
  }
}
#endif
