import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

@testable import MartletEngine

/// The digests that servers send, checked while bodies are read (RFC 9530).
@Suite(.timeLimit(.minutes(5)))
struct CheckedDigestTests {
  private static let content = Data("hello, world".utf8)
  /// The digest of `hello, world`, from `sha256sum`.
  private static let right = "sha-256=:Ccp+TqpuiunH0mEWcSkYSINkTQffuny/vEyKLgg2DVs=:"
  private static let wrong = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
  /// A gzip member with `An unexceptional string` and a line feed, and the digests of all its bytes and of the first
  /// ten: http-extensions 3402.
  private static let coded =
    Data(base64Encoded: "H4sIAHkfCGQA/3PMUyjNS61ITi0oyczPS8xRKC4pysxL5wIAfq8HRBgAAAA=") ?? Data()
  private static let codedDigest = "sha-256=:kwcdt3RBGcsLaj7QSz9AW8MuwJaLjOJqUU/jKixF2oU=:"
  private static let partDigest = "sha-256=:SotB7Pa5A7iHSBdh9mg1Ev/ktAzrxU4Z8ldcCIUyfI4=:"

  private let session: HTTPSession

  init() {
    var configuration = SessionConfiguration()
    configuration.options.checksDigests = true
    session = HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  /// Reads a response in both ways, collected and in chunks. Returns the bytes, or the kind of the error.
  private func read(
    _ reply: Reply, _ method: HTTPMethod = .get, fields: HTTPFields = [:]
  ) async throws -> [Result<Data, HTTPError>] {
    let server = try LoopbackServer { _ in reply }
    var results: [Result<Data, HTTPError>] = []
    let request = HTTPRequest(method, server.url, fields: fields)
    do throws(HTTPError) { results.append(.success(try await session.data(for: request).0)) } catch {
      results.append(.failure(error))
    }
    do throws(HTTPError) {
      var data = Data()
      for try await chunk in try await session.bytes(for: request).0 { data += chunk }
      results.append(.success(data))
    } catch { results.append(.failure(error)) }
    return results
  }

  private static func replies(_ name: FieldName, _ digest: String) -> [(String, Reply)] {
    [
      ("length", .data(content).with(name, digest)), ("chunked", .data(content).chunked(size: 5).with(name, digest)),
      ("until close", .data(content).untilClose().with(name, digest)),
      ("trailer", .data(content).chunked().with(.trailer, name.rawName).with(trailer: name, digest)),
    ]
  }

  @Test(arguments: [FieldName.contentDigest, .reprDigest]) func aBodyMustHaveItsDigest(name: FieldName) async throws {
    for (framing, reply) in Self.replies(name, Self.right) {
      for result in try await read(reply) { #expect(try result.get() == Self.content, "\(framing)") }
    }
    for (framing, reply) in Self.replies(name, Self.wrong) {
      for result in try await read(reply) {
        #expect(throws: HTTPError.self, "\(framing)") { try result.get() }
        guard case .failure(let error) = result else { continue }
        #expect(error.kind == .digestMismatch && error.phase == .receiving)
        #expect(error.message.contains("\(Self.right) instead of \(Self.wrong) of its \(name)"))
        #expect(error.response?.status == .ok && error.request != nil)
      }
    }
  }

  @Test func aLargeBodyIsCheckedToo() async throws {
    let content = Data(repeating: UInt8(ascii: "a"), count: 3 << 20)
    let digest = try IntegrityDigest(.sha512, of: content)
    for result in try await read(.data(content).with(.contentDigest, digest.text)) {
      #expect(try result.get() == content)
    }
    for result in try await read(.data(content.dropLast() + Data("b".utf8)).with(.contentDigest, digest.text)) {
      #expect(throws: HTTPError.self) { try result.get() }
    }
  }

  @Test func theLastBytesOfABodyWithAKnownLengthAreWithheld() async throws {
    let server = try LoopbackServer { _ in .data(Self.content).with(.contentDigest, Self.wrong) }
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url))
    var received = Data()
    await #expect(throws: HTTPError.self) { for try await chunk in body { received += chunk } }
    #expect(received.count < Self.content.count)
  }

  @Test func theDigestOfACodedBodyIsCheckedBeforeItIsDecoded() async throws {
    let reply = Reply.data(Self.coded).with(.contentEncoding, "gzip")
    for name in [FieldName.contentDigest, .reprDigest] {
      for result in try await read(reply.with(name, Self.codedDigest)) {
        #expect(try result.get() == Data("An unexceptional string\n".utf8))
      }
      for result in try await read(reply.with(name, Self.wrong)) {
        #expect(throws: HTTPError.self) { try result.get() }
        if case .failure(let error) = result { #expect(error.kind == .digestMismatch) }
      }
    }
  }

  @Test func aPartHasTheDigestOfItsContentAndThatOfTheWhole() async throws {
    let reply = Reply.data(Data(Self.coded.prefix(10)), status: .partialContent).with(.contentEncoding, "gzip")
      .with(.contentRange, "bytes 0-9/\(Self.coded.count)").with(.reprDigest, Self.codedDigest)
    for result in try await read(reply.with(.contentDigest, Self.partDigest), fields: [.range: "bytes=0-9"]) {
      #expect(try result.get() == Self.coded.prefix(10))
    }
    for result in try await read(reply.with(.contentDigest, Self.codedDigest), fields: [.range: "bytes=0-9"]) {
      #expect(throws: HTTPError.self) { try result.get() }
    }
  }

  @Test func aBodyWithoutBytesIsCheckedAtOnce() async throws {
    for result in try await read(.data(Data()).with(.contentDigest, Self.wrong)) { #expect(try result.get().isEmpty) }
    for result in try await read(.data(Data()).with(.contentDigest, Self.right)) {
      #expect(throws: HTTPError.self) { try result.get() }
    }
  }

  @Test(arguments: [
    (HTTPMethod.head, Reply.data(content)), (.get, .status(.noContent)), (.get, .data(content).with(.eTag, "\"1\"")),
  ])
  func aResponseWithoutContentHasNothingToCheck(method: HTTPMethod, reply: Reply) async throws {
    let digest = reply.status == .ok && method == .get ? Self.right : Self.wrong
    for result in try await read(reply.with(.contentDigest, digest).with(.reprDigest, digest), method) {
      #expect(throws: Never.self) { try result.get() }
    }
  }

  @Test func aTruncatedBodyIsALostConnection() async throws {
    for result in try await read(.data(Self.content).with(.contentDigest, Self.right).truncated(after: 5)) {
      guard case .failure(let error) = result else { throw HTTPError(.other, "the body is complete") }
      #expect(error.kind == .connectionLost)
    }
  }

  @Test func digestsOfOtherAlgorithmsAreIgnored() async throws {
    for result in try await read(.data(Self.content).with(.contentDigest, "md5=:AAAA:, unixsum=1, crc32c=:AAAAAA==:")) {
      #expect(try result.get() == Self.content)
    }
  }

  @Test func theRequestAsksForDigests() async throws {
    let server = try LoopbackServer { _ in .data(Self.content) }
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    _ = try await session.data(for: HTTPRequest(.get, server.url, fields: ["Want-Repr-Digest": "sha-512=1"]))
    #expect(
      server.requests.map { $0.fields[.wantContentDigest] } == Array(repeating: "sha-256=10, sha-512=5", count: 2))
    #expect(server.requests.map { $0.fields[.wantReprDigest] } == ["sha-256=10, sha-512=5", "sha-512=1"])
  }

  @Test func nothingIsCheckedByDefault() async throws {
    let server = try LoopbackServer { _ in .data(Self.content).with(.contentDigest, Self.wrong) }
    let session = HTTPSession(transport: SocketTransport())
    #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Self.content)
    #expect(!server.requests[0].fields.contains(.wantContentDigest))
  }

  @Test func theCacheDoesNotStoreABodyWithAnotherDigest() async throws {
    let requests = Counter()
    let server = try LoopbackServer { _ in
      .data(Self.content).with(.cacheControl, "max-age=60")
        .with(.contentDigest, requests.next() == 1 ? Self.wrong : Self.right)
    }
    await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url)) }
    for _ in 0..<2 { #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Self.content) }
    #expect(server.requests.count == 2)
  }

  /// The first half of the file comes in one response, the second in another; `Repr-Digest` is that of both.
  @Test(arguments: [true, false]) func aResumedDownloadIsCheckedAsAWhole(isRight: Bool) async throws {
    let folder = try TemporaryFolder()
    let server = try LoopbackServer { request in
      guard request.fields[.range] != nil else {
        return .data(Self.content).with(.eTag, "\"1\"").with(.reprDigest, Self.right).truncated(after: 5)
      }
      let rest = isRight ? Self.content.suffix(7).text : "_______"
      return .data(Data(rest.utf8), status: .partialContent).with(.eTag, "\"1\"")
        .with(.contentRange, "bytes 5-11/12").with(.reprDigest, Self.right)
    }
    var request = HTTPRequest(.get, server.url("/a"))
    request.options.downloadResumptions = 1
    let file = folder.file("a")
    if isRight {
      _ = try await session.download(for: request, to: file)
      #expect(try Data(contentsOf: file) == Self.content)
    } else {
      let error = await #expect(throws: HTTPError.self) { try await session.download(for: request, to: file) }
      #expect(error?.kind == .digestMismatch && error?.resumption == nil)
      #expect(try folder.names().isEmpty)
    }
    #expect(server.requests.count == 2)
  }

  @Test func aDownloadWhoseServerSendsNoDigestIsAccepted() async throws {
    let folder = try TemporaryFolder()
    let server = try LoopbackServer { _ in .data(Self.content) }
    _ = try await session.download(for: HTTPRequest(.get, server.url), to: folder.file("a"))
    #expect(try folder.names() == ["a"])
  }
}

extension Data {
  fileprivate var text: String { String(decoding: self, as: UTF8.self) }
}
