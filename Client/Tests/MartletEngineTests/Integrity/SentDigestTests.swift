import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

@testable import MartletEngine

/// The digests that are sent with the bodies of requests (RFC 9530).
@Suite(.timeLimit(.minutes(5)))
struct SentDigestTests {
  private static let content = Data("hello, world".utf8)
  /// The digests of `hello, world`, from `sha256sum` and `sha512sum`.
  private static let sha256 = "sha-256=:Ccp+TqpuiunH0mEWcSkYSINkTQffuny/vEyKLgg2DVs=:"
  private static let sha512 = """
    sha-512=:hxAznctoFNDZ0ikO9CIoXJMitxY5Ufmgyo+IPTMFKG9EE5qjdISOQXT1qtpmMCfkVIY3ttGYlK7E+2xGoTn7+Q==:
    """

  /// Sends a request, and returns the requests that the server received.
  private func received(
    _ body: RequestBody, method: HTTPMethod = .put, fields: HTTPFields = [:],
    interceptors: [any Interceptor] = [], answer: (@Sendable (LoopbackRequest) -> Reply)? = nil,
    options: (inout RequestOptions) -> Void = { $0.contentDigest = .sha256 }
  ) async throws -> [ReceivedRequest] {
    let server = try LoopbackServer { answer?($0) ?? .text("ok") }
    var configuration = SessionConfiguration()
    configuration.interceptors = interceptors
    options(&configuration.options)
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(method, server.url, fields: fields, body: body))
    return server.requests
  }

  private static func stream(_ pieces: [String], trailers: HTTPFields? = nil) -> RequestBody {
    let made: (@Sendable () async throws -> HTTPFields)? = if let trailers { { trailers } } else { nil }
    return .stream(trailers: made) {
      AsyncStream<Data> { chunks in
        for piece in pieces { chunks.yield(Data(piece.utf8)) }
        chunks.finish()
      }
    }
  }

  @Test func bytesHaveTheDigestAsAField() async throws {
    let request = try await received(.data(Self.content))[0]
    #expect(request.fields[.contentDigest] == Self.sha256)
    #expect(request.fields[.reprDigest] == nil && request.trailers == [:])
    #expect(request.fields[.contentLength] == "12")
  }

  @Test func bothFieldsMayHaveDifferentAlgorithms() async throws {
    let request = try await received(
      .data(Self.content), options: { ($0.contentDigest, $0.reprDigest) = (.sha512, .sha256) })[0]
    #expect(request.fields[.contentDigest] == Self.sha512)
    #expect(request.fields[.reprDigest] == Self.sha256)
  }

  @Test func aFileIsReadForTheFieldAndKeepsItsLength() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("a")
    try Self.content.write(to: file)
    let request = try await received(.file(file))[0]
    #expect(request.fields[.contentDigest] == Self.sha256)
    #expect(request.fields[.contentLength] == "12" && request.body == Self.content)
  }

  @Test func aMissingFileFailsBeforeAnythingIsSent() async throws {
    let folder = try TemporaryFolder()
    let file = folder.file("a")
    let error = await #expect(throws: HTTPError.self) { try await received(.file(file)) }
    #expect(error?.kind == .file)
  }

  @Test(arguments: [false, true]) func aStreamIsFollowedByTheDigest(isSingleUse: Bool) async throws {
    let pieces = ["hello", ", ", "world"].map { Data($0.utf8) }
    let body: RequestBody =
      isSingleUse
      ? .singleUse(
        length: 12,
        AsyncStream { chunks in
          pieces.forEach { chunks.yield($0) }; chunks.finish()
        })
      : Self.stream(["hello", ", ", "world"])
    let request = try await received(body, options: { ($0.contentDigest, $0.reprDigest) = (.sha256, .sha512) })[0]
    #expect(request.body == Self.content)
    #expect(request.fields.list(.trailer) == ["Content-Digest", "Repr-Digest"])
    #expect(request.fields[.contentDigest] == nil && request.fields[.transferEncoding] == "chunked")
    #expect(request.trailers == ["Content-Digest": Self.sha256, "Repr-Digest": Self.sha512])
  }

  @Test func aStreamKeepsItsOwnTrailers() async throws {
    let request = try await received(Self.stream(["hello, world"], trailers: ["X-A": "b"]))[0]
    #expect(request.trailers == ["X-A": "b", "Content-Digest": Self.sha256])
  }

  @Test func aStreamOfManyPiecesNeedsNoMemoryForAllOfThem() async throws {
    let piece = String(repeating: "a", count: 64 << 10)
    let request = try await received(Self.stream(Array(repeating: piece, count: 64)))[0]
    let all = Data(repeating: UInt8(ascii: "a"), count: 4 << 20)
    #expect(request.trailers.digests(of: .contentDigest) == [try IntegrityDigest(.sha256, of: all)])
  }

  @Test func aRequestWithoutContentHasNoDigest() async throws {
    for (method, body) in [(.get, .empty), (.post, .empty), (.put, Self.stream([]))] as [(HTTPMethod, RequestBody)] {
      let request = try await received(body, method: method)[0]
      #expect(request.fields[.contentDigest] == nil)
    }
  }

  @Test func nothingIsSentByDefault() async throws {
    let request = try await received(.data(Self.content), options: { _ in })[0]
    #expect(!request.fields.contains { $0.name.rawName.lowercased().contains("digest") })
  }

  @Test func aDigestThatTheCallerSetStays() async throws {
    let request = try await received(.data(Self.content), fields: ["Content-Digest": "sha-256=:AAAA:"])[0]
    #expect(request.fields[values: .contentDigest] == ["sha-256=:AAAA:"])
    let streamed = try await received(Self.stream(["a"]), fields: ["Content-Digest": "sha-256=:AAAA:"])[0]
    #expect(streamed.trailers == [:] && !streamed.fields.contains(.trailer))
  }

  // The digest is that of the bytes on the network: rclone 4928 sent the one of the plain bytes.
  @Test func theDigestOfACompressedBodyIsThatOfItsCompressedBytes() async throws {
    let request = try await received(RequestBody.data(Self.content).compressed())[0]
    #expect(request.fields[.contentEncoding] == "gzip")
    #expect(request.trailers.digests(of: .contentDigest) == [try IntegrityDigest(.sha256, of: request.body)])
    #expect(request.body != Self.content)
  }

  private struct Replacing: Interceptor {
    let change: @Sendable (RequestBody) -> RequestBody

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      var request = request
      request.body = change(request.body)
      return .send(request)
    }
  }

  @Test func anInterceptorThatReplacesTheBodyRemovesTheDigest() async throws {
    let request = try await received(
      .data(Self.content), interceptors: [Replacing { _ in .data(Data("other".utf8)) }])[0]
    #expect(request.body == Data("other".utf8) && request.fields[.contentDigest] == nil)
  }

  // Both digests are those of other bytes after a change of the content coding: oxidizer 746.
  @Test(arguments: [false, true]) func anInterceptorThatCompressesTheBodyRemovesTheDigest(isStream: Bool) async throws {
    let body = isStream ? Self.stream(["hello, ", "world"], trailers: ["X-A": "b"]) : .data(Self.content)
    let request = try await received(
      body, interceptors: [Replacing { $0.compressed() }],
      options: { ($0.contentDigest, $0.reprDigest) = (.sha256, .sha256) })[0]
    #expect(request.fields[.contentEncoding] == "gzip")
    for fields in [request.fields, request.trailers] {
      #expect(!fields.contains(.contentDigest) && !fields.contains(.reprDigest))
    }
    #expect(request.fields[.trailer] == nil)
    #expect(request.trailers == (isStream ? ["X-A": "b"] : [:]))
  }

  @Test(arguments: [(HTTPStatus.temporaryRedirect, true), (.seeOther, false)])
  func aRedirectKeepsTheDigestOnlyWithTheBody(status: HTTPStatus, keeps: Bool) async throws {
    let requests = try await received(
      .data(Self.content), method: .post,
      answer: {
        $0.path == "/next" ? .text("ok") : .redirect(to: "/next", status: status)
      })
    #expect(requests.map { $0.fields[.contentDigest] } == [Self.sha256, keeps ? Self.sha256 : nil])
  }

  @Test func eachAttemptSendsTheDigestOfAStream() async throws {
    let requests = try await received(
      Self.stream(["hello, world"]),
      answer: {
        $0.path == "/next" ? .text("ok") : .redirect(to: "/next", status: .permanentRedirect)
      })
    #expect(requests.map(\.trailers) == Array(repeating: ["Content-Digest": Self.sha256], count: 2))
  }

  @Test func interceptorsSeeTheDigestBeforeTheRequestIsSent() async throws {
    struct Reader: Interceptor {
      let seen: Log<String?>

      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
        seen.append(request.fields[.contentDigest])
        return .send(request)
      }
    }
    let seen = Log<String?>()
    _ = try await received(.data(Self.content), interceptors: [Reader(seen: seen)])
    #expect(seen.entries == [Self.sha256])
  }
}
