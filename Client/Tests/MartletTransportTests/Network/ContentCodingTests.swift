import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ContentCodingTests {
  private let session = HTTPSession.uncached()
  private static let text = String(repeating: "hello ", count: 20)

  /// 50 MiB of zeros.
  private static let bomb =
    "y///P/gnAOKxQCD3/o///3/wTwDEYRGA7v0f////4J8AiMMCAN37P/7//8E/ARCHBQC693/8//+DfwIgDgsAdO//+P//B/8EQBwWAOje/+X//wf+CYA4LADQvf8A"

  private func server(_ coding: String, _ base64: String) throws -> LoopbackServer {
    let body = try #require(Data(base64Encoded: base64))
    return try LoopbackServer { _ in .data(body, type: "text/plain").with(.contentEncoding, coding) }
  }

  @Test(arguments: [
    ("gzip", "H4sIAAAAAAAC/8tIzcnJV8igOwkAL/r4SHgAAAA="), ("deflate", "eJzLSM3JyVfIoDsJAHe6LBE="),
    ("br", "G3cA+I2Ubt5EVYaWbCBvEVscgMUB"), ("zstd", "KLUv/SB4bQAAMGhlbGxvIAEAL2kpAg=="),
  ])
  func bodiesAreDecompressed(coding: String, base64: String) async throws {
    let server = try server(coding, base64)

    let (data, response) = try await session.data(for: HTTPRequest(.get, server.url))

    #expect(String(decoding: data, as: UTF8.self) == Self.text)
    #expect(server.requests.first?.fields[.acceptEncoding]?.contains(coding) == true)
    #expect(response.fields[.contentEncoding] == nil)
    #expect(response.fields[.contentLength] == nil)
    #expect(response.networkHead?.fields[.contentEncoding] == coding)
  }

  @Test func aCallerWithItsOwnAcceptEncodingGetsEncodedBytes() async throws {
    let base64 = "eJzLSM3JyVfIoDsJAHe6LBE="
    let server = try server("deflate", base64)

    let (data, response) = try await session.data(
      for: HTTPRequest(.get, server.url, fields: [.acceptEncoding: "deflate"]))

    #expect(data.base64EncodedString() == base64)
    #expect(response.fields[.contentEncoding] == "deflate")
  }

  @Test func aRangeIsRequestedUncompressed() async throws {
    let server = try LoopbackServer { _ in .text("lo", status: .partialContent) }
    _ = try await session.data(for: HTTPRequest(.get, server.url, fields: [.range: "bytes=3-4"]))
    #expect(server.requests.first?.fields[.acceptEncoding] == "identity")
  }

  @Test(arguments: ["gzip", "br", "zstd", "deflate"])
  func aDamagedBodyIsUndecodable(coding: String) async throws {
    let server = try server(coding, "//79/P//AAA=")
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect(error?.kind == .undecodableBody, "\(coding): \(String(describing: error))")
    #expect(error?.message.contains("127.0.0.1") == true)
  }

  @Test func anUnknownCodingIsDeliveredWithItsField() async throws {
    let server = try server("aws-chunked", "AAAA")
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.url))
    #expect(data == Data([0, 0, 0]))
    #expect(response.fields[.contentEncoding] == "aws-chunked")
    #expect(response.fields[.contentLength] == "3")
  }

  @Test(arguments: [
    ("gzip", "H4sIAAAAAAAC/8tIzcnJV8igOwkAL/r4SHgAAAA="), ("deflate", "eJzLSM3JyVfIoDsJAHe6LBE="),
    ("br", "G3cA+I2Ubt5EVYaWbCBvEVscgMUB"), ("zstd", "KLUv/SB4bQAAMGhlbGxvIAEAL2kpAg=="),
  ])
  func aTruncatedEncodedBodyIsAnErrorAndIsNotStored(coding: String, base64: String) async throws {
    let body = try #require(Data(base64Encoded: base64))
    let server = try LoopbackServer { request in
      let count = Int(request.path.split(separator: "/").last ?? "") ?? 0
      let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Encoding: \(coding)\r\n"
      let cut = body.prefix(count)
      guard request.path.hasPrefix("/framed") else { return .raw(Data("\(head)\r\n".utf8) + cut) }
      return .raw(Data("\(head)Content-Length: \(cut.count)\r\n\r\n".utf8) + cut)
    }
    let store = MemoryCacheStore()
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: store)
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    for place in 1..<body.count {
      for framing in ["framed", "closed"] {
        let request = HTTPRequest(.get, server.url("/\(framing)/\(place)"))
        let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
        #expect(error?.kind == .undecodableBody, "\(framing), cut at \(place): \(String(describing: error))")
      }
    }
    #expect(await store.usage().entries == 0)
    let whole = try await session.data(for: HTTPRequest(.get, server.url("/framed/\(body.count)")))
    #expect(String(decoding: whole.0, as: UTF8.self) == Self.text)
    #expect(await store.usage().entries == 1)
  }

  @Test func aSlowReaderOfAnEncodedBodyPausesTheSender() async throws {
    // random bytes in stored blocks of gzip, so that encoded and decoded body have the same length
    let block = Data.random(60 << 10)
    let length = UInt16(block.count)
    let stored = Data([0, UInt8(length & 255), UInt8(length >> 8), UInt8(~length & 255), UInt8(~length >> 8)]) + block
    let written = Mutex<Int64>(0)
    let server = try LoopbackServer { request in
      guard request.path == "/slow" else { return .repeating(block, length: 8 << 20) }
      return Reply.generated { offset in
        written.withLock { $0 = offset }
        if offset == 0 { return Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]) }
        return offset < 96 << 20 ? stored : nil
      }.with(.contentEncoding, "gzip")
    }
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url("/slow")))
    var iterator = body.makeAsyncIterator()
    #expect(try await iterator.next() != nil)
    for _ in 0..<12 { _ = try await session.data(for: HTTPRequest(.get, server.url("/fast"))) }
    #expect(written.withLock { $0 } < 32 << 20)
    // the gzip stream is not complete, so the body is not either
    await #expect(throws: HTTPError.self) { while try await iterator.next() != nil {} }
  }

  @Test func theBodyLimitAppliesToADecompressionBomb() async throws {
    let server = try server("br", Self.bomb)
    var request = HTTPRequest(.get, server.url)
    request.options.bodyLimit = 1 << 20

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }

    #expect(error?.kind == .bodyTooLarge)
  }

  @Test func aLongBodyThatCompressesWellIsDecodedCompletely() async throws {
    // 50 MiB from 93 bytes: all of it comes in one turn of the loop
    let server = try server("br", Self.bomb)
    let (data, _) = try await session.data(for: HTTPRequest(.get, server.url))
    #expect(data.count == 50 << 20)
  }

  @Test func aSlowReaderGetsAllOfADecodedBody() async throws {
    let server = try server("br", Self.bomb)
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url("/slow")))
    var iterator = body.makeAsyncIterator()
    var count = try await iterator.next()?.count ?? 0
    for _ in 0..<20 { _ = try await session.data(for: HTTPRequest(.head, server.url)) }
    while let chunk = try await iterator.next() { count += chunk.count }
    #expect(count == 50 << 20)
  }

  @Test func anEmptyBodyWithACodingIsEmpty() async throws {
    let server = try LoopbackServer { _ in .status(.noContent, fields: [.contentEncoding: "gzip"]) }
    let (data, response) = try await session.data(for: HTTPRequest(.head, server.url))
    #expect(data.isEmpty)
    #expect(response.fields[.contentEncoding] == "gzip")
  }
}
