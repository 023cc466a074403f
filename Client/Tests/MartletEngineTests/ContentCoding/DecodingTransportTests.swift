import CallDoubles
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Content codings are decoded above a transport that delivers bodies in the form in which they were sent (RFC 9110
/// §8.4).
@Suite(.timeLimit(.minutes(5)))
struct DecodingTransportTests {
  private static let gzip = rows[0].bytes

  /// Sends one request through a decoding transport above one that answers with these chunks.
  private func answer(
    _ codings: String, chunks: [Data], fields: HTTPFields = [:], status: HTTPStatus = .ok,
    to request: HTTPRequest = HTTPRequest(.get, origin)
  ) async throws -> (Data, HTTPResponse) {
    try await session(codings, ChunkSource(chunks), fields: fields, status: status).data(for: request)
  }

  private func session(
    _ codings: String, _ source: any BodySource, fields: HTTPFields = [:], status: HTTPStatus = .ok
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    let raw = TestTransport { request in
      var head = ResponseHead(status: status, fields: fields, version: .http1_1)
      head.fields.append(codings, for: .contentEncoding)
      return HTTPResponse(to: request, networkHead: head, from: source)
    }
    return HTTPSession(transport: DecodingTransport(raw), configuration: configuration)
  }

  private func failure(_ codings: String, chunks: [Data], fields: HTTPFields = [:]) async -> HTTPError? {
    await #expect(throws: HTTPError.self) { try await answer(codings, chunks: chunks, fields: fields) }
  }

  @Test(arguments: rows)
  func aCodedBodyIsDecodedWhereverItsChunksEnd(_ row: Row) async throws {
    let (data, response) = try await answer(row.codings, chunks: [row.bytes])
    #expect(String(decoding: data, as: UTF8.self) == Self.text)
    #expect(!response.fields.contains(.contentEncoding))
    #expect(response.networkHead?.fields[.contentEncoding] == row.codings)

    let single = row.bytes.map { Data([$0]) }
    #expect(try await answer(row.codings, chunks: single).0 == data, "byte by byte")
    for place in 1..<row.bytes.count {
      let parts = [row.bytes.prefix(place), row.bytes.dropFirst(place)].map { Data($0) }
      #expect(try await answer(row.codings, chunks: parts).0 == data, "in two chunks at \(place)")
    }
  }

  @Test(arguments: rows)
  func aBodyCutAnywhereIsAnError(_ row: Row) async throws {
    // The end of the first member is an end; nothing shows that another one was to come.
    let ends = Self.memberEnds(of: row)
    let magicSize = row.codings == "zstd" ? 4 : 2
    for place in 1..<row.bytes.count where !ends.contains(place) {
      let part = Data(row.bytes.prefix(place))
      #expect(await failure(row.codings, chunks: [part])?.kind == .undecodableBody, "cut at \(place)")
      // According to the framing the body is complete: then the first bytes of a magic number are not its own.
      if ends.contains(where: { $0 < place && place < $0 + magicSize }) { continue }
      let error = await failure(row.codings, chunks: [part], fields: [.transferEncoding: "chunked"])
      #expect(error?.kind == .undecodableBody, "cut at \(place)")
    }
    // Without a length, a missing body may also be a cut.
    #expect(await failure(row.codings, chunks: [])?.kind == .undecodableBody)
  }

  /// The end of the first of several members.
  private static func memberEnds(of row: Row) -> Set<Int> {
    let magic: [UInt8]? =
      switch row.testDescription {
      case "gzip of two members": [0x1F, 0x8B, 8]
      case "zstd of two frames and one that is skipped": nil
      default: []
      }
    guard let magic else {
      // after the first frame, and after the skipped one
      let bytes = [UInt8](row.bytes)
      guard let skip = bytes.indices.first(where: { bytes[$0...].starts(with: [0x50, 0x2A, 0x4D, 0x18]) }) else {
        return []
      }
      return [skip, skip + 13]
    }
    guard !magic.isEmpty else { return [] }
    let bytes = [UInt8](row.bytes)
    return Set(bytes.indices.dropFirst().filter { bytes[$0...].starts(with: magic) })
  }

  @Test(arguments: rows.filter { !$0.testDescription.contains("br") && $0.testDescription != "raw deflate" })
  func aWrongChecksumIsAnError(_ row: Row) async throws {
    var bytes = row.bytes
    // the last four bytes of zlib and zstd are the checksum; those of gzip are the length, and the checksum comes
    // before
    bytes[bytes.count - 2] ^= 1
    #expect(await failure(row.codings, chunks: [bytes])?.kind == .undecodableBody)
    guard row.codings.lowercased().hasSuffix("gzip") else { return }
    bytes = row.bytes
    bytes[bytes.count - 6] ^= 1
    #expect(await failure(row.codings, chunks: [bytes])?.kind == .undecodableBody)
  }

  @Test func errorsNameTheServerTheCodingAndWhatIsWrong() async throws {
    let cut = await failure("gzip", chunks: [Self.gzip.dropLast(3)])
    #expect(cut?.message == "a.example: the gzip body is truncated")
    #expect(cut?.phase == .receiving)
    let damaged = await failure("br", chunks: [Data(repeating: 0xFF, count: 40)])
    #expect(damaged?.message.hasPrefix("a.example: the br body cannot be decoded: ") == true)
  }

  @Test(arguments: ["gzip", "deflate", "br", "zstd"])
  func noBytesAreAnEmptyBodyWhereTheFramingSaysSo(coding: String) async throws {
    let (data, response) = try await answer(coding, chunks: [], fields: [.contentLength: "0"])
    #expect(data.isEmpty)
    #expect(!response.fields.contains(.contentEncoding))
    #expect(try await answer(coding, chunks: [], fields: [.transferEncoding: "chunked"]).0.isEmpty)
  }

  // MARK: - Bytes after the end

  @Test(arguments: [
    ("gzip", rows[0].bytes), ("deflate", rows[3].bytes), ("deflate", rows[4].bytes), ("br", rows[5].bytes),
    ("zstd", rows[6].bytes),
  ])
  func otherBytesBehindTheEndAreLeftOut(coding: String, bytes: Data) async throws {
    let log = EventLog()
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [log]
    let (data, _) = try await answer(coding, chunks: [bytes + Data("\r\n".utf8), Data([0])], to: request)
    #expect(String(decoding: data, as: UTF8.self) == Self.text)
    #expect(log.lines.contains("note: 3 bytes after the end of the \(coding) body were ignored"))
  }

  @Test func endlessBytesBehindTheEndAreAnError() async throws {
    let rest = Array(repeating: Data(repeating: 0, count: 16 << 10), count: 5)
    #expect(await failure("gzip", chunks: [Self.gzip] + rest)?.kind == .undecodableBody)
  }

  @Test func aSecondMemberThatIsDamagedIsAnError() async throws {
    #expect(await failure("gzip", chunks: [Self.gzip, Data([0x1F, 0x8B, 0xFF])])?.kind == .undecodableBody)
    #expect(await failure("gzip", chunks: [Self.gzip, Data([0x1F, 0x8B])])?.kind == .undecodableBody)
  }

  /// The first bytes of a member's magic number, and the bytes after them.
  private static let lookalikes: [(coding: String, bytes: Data, rest: [UInt8])] =
    [[0x1F], [0x1F, 0x1F], [0x1F, 0x8C, 8]].map { ("gzip", rows[0].bytes, $0) }
    + [
      [0x28], [0x28, 0, 0, 0], [0x28, 0xB5, 0x2F, 0xFE], [0x50], [0x5A, 0x2A], [0x5B, 0x2A, 0x4D, 0x19], [0x5D], [0x5F],
    ].map { ("zstd", rows[6].bytes, $0) }

  @Test(arguments: lookalikes)
  func bytesThatBeginLikeAMemberAndAreNoneAreLeftOut(
    coding: String, bytes: Data, rest: [UInt8]
  ) async throws {
    for chunks in [[bytes + Data(rest)], [bytes] + rest.map { Data([$0]) }] {
      let (data, _) = try await answer(coding, chunks: chunks, fields: [.transferEncoding: "chunked"])
      #expect(String(decoding: data, as: UTF8.self) == Self.text)
    }
  }

  // MARK: - Supported codings

  @Test(arguments: [
    ("aws-chunked", "aws-chunked", false), ("compress", "compress", false),
    ("gzip, aws-chunked", "gzip, aws-chunked", false),
    ("aws-chunked, gzip", "aws-chunked", true), ("aws-chunked, identity, gzip", "aws-chunked", true),
  ])
  func aCodingThatIsNotKnownStaysWithItsField(codings: String, left: String, isDecoded: Bool) async throws {
    let (data, response) = try await answer(
      codings, chunks: [Self.gzip], fields: [.contentLength: "\(Self.gzip.count)"])
    #expect(data == (isDecoded ? Data(Self.text.utf8) : Self.gzip))
    #expect(response.fields[.contentEncoding] == left)
    #expect(response.fields.contains(.contentLength) == !isDecoded)
    #expect(response.body.length == (isDecoded ? nil : Int64(Self.gzip.count)))
  }

  @Test func moreThanFiveCodingsAreAnError() async throws {
    let source = WatchedSource(["x"])
    let session = session("gzip, gzip, gzip, gzip, gzip, gzip", source)
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, origin)) }
    #expect(error?.kind == .undecodableBody)
    #expect(source.isCancelled)
  }

  @Test func codingsMayStandInSeveralLines() async throws {
    let (data, response) = try await answer(
      "br", chunks: [Self.rows[8].bytes], fields: [.contentEncoding: "gzip"])
    #expect(String(decoding: data, as: UTF8.self) == Self.text)
    #expect(!response.fields.contains(.contentEncoding))
  }

  @Test(arguments: [
    (HTTPMethod.head, HTTPStatus.ok), (.get, .noContent), (.get, .notModified), (.get, .partialContent),
  ])
  func aResponseWithoutAWholeBodyKeepsItsField(method: HTTPMethod, status: HTTPStatus) async throws {
    let (data, response) = try await answer("gzip", chunks: [], status: status, to: HTTPRequest(method, origin))
    #expect(data.isEmpty)
    #expect(response.fields[.contentEncoding] == "gzip")
  }

  private static let questions: [(fields: HTTPFields, expected: String)] = [
    ([:], "gzip, deflate, br, zstd"), ([.acceptEncoding: "br"], "br"), ([.acceptEncoding: ""], ""),
    ([.range: "bytes=3-4"], "identity"),
  ]

  @Test(arguments: questions)
  func theRequestSaysWhatCanBeDecoded(fields: HTTPFields, expected: String) async throws {
    let bytes = Self.gzip
    let seen = Mutex<HTTPFields>([:])
    let raw = TestTransport { request in
      seen.withLock { $0 = request.fields }
      let head = ResponseHead(status: .ok, fields: [.contentEncoding: "gzip"])
      return HTTPResponse(to: request, networkHead: head, from: ChunkSource([bytes]))
    }
    let (data, _) = try await HTTPSession(transport: DecodingTransport(raw)).data(
      for: HTTPRequest(.get, origin, fields: fields))
    #expect(seen.withLock { $0[values: .acceptEncoding] } == [expected])
    // a body for which the caller set the field itself stays in its sent form
    #expect(data == (fields.isEmpty ? Data(Self.text.utf8) : bytes))
  }

  // MARK: - Memory and limits

  /// 50 MiB of zeros as brotli.
  private static let zeros =
    "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwWAOje/+X//wf+CYA4LADQvf8A"

  @Test func aChunkIsAtMost128KiBHoweverWellTheBodyPacks() async throws {
    let source = ChunkSource([try #require(Data(base64Encoded: Self.zeros))])
    let (body, _) = try await session("br", source).bytes(for: HTTPRequest(.get, origin))
    var count = 0
    for try await chunk in body {
      #expect(chunk.count <= 128 << 10)
      count += chunk.count
    }
    #expect(count == 50 << 20)
  }

  @Test func codedBytesArePulledOnlyWhenTheyAreNeeded() async throws {
    let packed = try #require(Data(base64Encoded: Self.zeros))
    let source = ChunkSource([packed.prefix(packed.count / 2), packed.dropFirst(packed.count / 2)].map { Data($0) })
    let (body, _) = try await session("br", source).bytes(for: HTTPRequest(.get, origin))
    var iterator = body.makeAsyncIterator()
    for _ in 0..<100 { #expect(try await iterator.next() != nil) }
    #expect(source.pulls == 1)
    #expect(!source.isCancelled)
    body.cancel()
    #expect(source.isCancelled)
  }

  @Test func whatIsFlushedComesAtOnce() async throws {
    // "hello " flushed, then "world", like in an event stream
    let packed = try #require(Data(base64Encoded: "H4sIAAAAAAAAA8pIzcnJVwAAAAD//yvPL8pJAQCFEUoNCwAAAA=="))
    let gate = Gate()
    let source = ChunkSource([Data(packed.prefix(22)), Data(packed.dropFirst(22))], second: gate)
    let (body, _) = try await session("gzip", source).bytes(for: HTTPRequest(.get, origin))
    var iterator = body.makeAsyncIterator()
    #expect(try await iterator.next() == Data("hello ".utf8))
    gate.open()
    #expect(try await iterator.next() == Data("world".utf8))
    #expect(try await iterator.next() == nil)
  }

  @Test(arguments: [
    ("zstd", Data([0x50, 0x2A, 0x4D, 0x18, 0, 0, 1, 0]) + Data(count: 64 << 10)),  // a frame that is skipped
    ("gzip", Data(base64Encoded: "H4sIAAAAAAACAwMAAAAAAAAAAAA=") ?? Data()),  // an empty member
  ])
  func codedBytesThatAreNoContentHaveAnEnd(coding: String, piece: Data) async throws {
    let source = ChunkSource(
      Array(repeating: (0..<(1 << 20) / piece.count / 8).reduce(into: Data()) { all, _ in all += piece }, count: 32))
    let error = await #expect(throws: HTTPError.self) {
      try await session(coding, source).data(for: HTTPRequest(.get, origin))
    }
    #expect(error?.kind == .undecodableBody)
    #expect(source.isCancelled)
  }

  @Test func limitsCountDecodedBytes() async throws {
    let packed = try #require(Data(base64Encoded: Self.zeros))
    var request = HTTPRequest(.get, origin)
    request.options.bodyLimit = 1 << 20
    let error = await #expect(throws: HTTPError.self) { try await answer("br", chunks: [packed], to: request) }
    #expect(error?.kind == .bodyTooLarge)
  }

  @Test func aRatioIsLimitedOnlyWhereThatIsAskedForAndOnlyBeyondTenMebibytes() async throws {
    let packed = try #require(Data(base64Encoded: Self.zeros))
    #expect(try await answer("br", chunks: [packed]).0.count == 50 << 20)

    var request = HTTPRequest(.get, origin)
    request.options.decompressionRatioLimit = 1000
    let source = ChunkSource([packed])
    let (body, _) = try await session("br", source).bytes(for: request)
    var count = 0
    let error = await #expect(throws: HTTPError.self) { for try await chunk in body { count += chunk.count } }
    #expect(error?.kind == .bodyTooLarge)
    #expect(error?.message.contains("decompressionRatioLimit") == true)
    #expect(count == 10 << 20)
    #expect(source.isCancelled)
  }

  @Test func aWindowBeyondEightMebibytesIsRefused() async throws {
    let packed = try #require(Data(base64Encoded: "KLUv/QRwRQAAEAAAAQA/ASwvUCzJ"))  // 16 MiB
    #expect(await failure("zstd", chunks: [packed])?.kind == .undecodableBody)
  }

  @Test func aPresetDictionaryIsRefused() async throws {
    #expect(await failure("deflate", chunks: [Data([0x78, 0xBB, 0, 0, 0, 1])])?.message.contains("dictionary") == true)
  }
}

/// A body that provides chunks, and counts how many were requested.
private final class ChunkSource: BodySource {
  private let state: Mutex<(chunks: [Data], pulls: Int, isCancelled: Bool)>
  private let second: Gate?

  init(_ chunks: [Data], second: Gate? = nil) {
    state = Mutex((chunks, 0, false))
    self.second = second
  }

  var pulls: Int { state.withLock { $0.pulls } }
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func next() async throws -> Data? {
    let pulls = state.withLock { state in
      state.pulls += 1
      return state.pulls
    }
    if pulls == 2 { try await second?.wait() }
    return state.withLock { $0.chunks.isEmpty ? nil : $0.chunks.removeFirst() }
  }

  func cancel() { state.withLock { $0.isCancelled = true } }
}
