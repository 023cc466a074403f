@_spi(Toolkit) import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

@testable import MartletEngine

/// A file appears only if it has the expected digest (RFC 9530).
@Suite(.timeLimit(.minutes(5)))
struct DownloadDigestTests {
  private static let content = Data("hello, world".utf8)
  /// The digest of `hello, world`, from `sha256sum`.
  private static let hexadecimal = "09ca7e4eaa6e8ae9c7d261167129184883644d07dfba7cbfbc4c8a2e08360d5b"
  private static let wrong = String(hexadecimal.reversed())

  private let folder: TemporaryFolder
  private let session: HTTPSession

  init() throws {
    folder = try TemporaryFolder()
    session = HTTPSession(transport: SocketTransport())
  }

  private func field(_ text: String) throws -> String {
    try #require(FileDigest(hexadecimal: text)?.given).text
  }

  private func download(from server: LoopbackServer, verifying digest: FileDigest) async throws -> [String] {
    _ = try await session.download(
      for: HTTPRequest(.get, server.url("/a")), to: folder.file("a"), verifying: digest)
    return try folder.names()
  }

  @Test func aFileWithTheGivenDigestAppears() async throws {
    let server = try LoopbackServer { _ in .data(Self.content) }
    #expect(
      try await download(from: server, verifying: try #require(FileDigest(hexadecimal: Self.hexadecimal))) == ["a"])
    #expect(server.requests[0].fields[.acceptEncoding] == "identity")
  }

  @Test func aFileWithAnotherDigestLeavesNothing() async throws {
    let server = try LoopbackServer { _ in .data(Self.content).with(.eTag, "\"1\"") }
    let digest = try #require(FileDigest(hexadecimal: Self.wrong))
    for keeps in [false, true] {
      let error = await #expect(throws: HTTPError.self) {
        let (request, file) = (HTTPRequest(.get, server.url("/a")), folder.file("a"))
        _ =
          keeps
          ? try await session.resumableDownload(for: request, to: file, verifying: digest)
          : try await session.download(for: request, to: file, verifying: digest)
      }
      #expect(error?.kind == .digestMismatch && error?.resumption == nil)
      #expect(error?.message == "the file has the digest \(Self.hexadecimal) instead of \(Self.wrong)")
      #expect(try folder.names().isEmpty)
    }
  }

  @Test(
    arguments: [
      (["Repr-Digest": hexadecimal], true), (["Content-Digest": hexadecimal], true),
      (["Repr-Digest": hexadecimal, "Content-Digest": wrong], true), (["Repr-Digest": wrong], false),
      (["Content-Digest": wrong], false), ([:], false),
    ] as [([String: String], Bool)])
  func theDigestThatTheServerSendsIsChecked(sent: [String: String], appears: Bool) async throws {
    let fields = try sent.mapValues { try field($0) }
    let server = try LoopbackServer { _ in
      fields.reduce(Reply.data(Self.content)) { $0.with(FieldName(stringLiteral: $1.key), $1.value) }
    }
    if appears {
      #expect(try await download(from: server, verifying: .sent) == ["a"])
    } else {
      let error = await #expect(throws: HTTPError.self) { _ = try await download(from: server, verifying: .sent) }
      #expect(error?.kind == .digestMismatch)
      let named = fields.isEmpty ? "no digest" : try field(Self.wrong)
      #expect(error?.message.contains(named) == true)
      #expect(try folder.names().isEmpty)
    }
    #expect(server.requests[0].fields["Want-Repr-Digest"] == "sha-256=10, sha-512=5")
  }

  /// A server that encodes although the request forbids it: the file has the encoded bytes, and their digest.
  @Test func theDigestOfACodedBodyIsThatOfItsBytes() async throws {
    let coded = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11Eozy/KSQEAOnKr/wwAAAA="))
    let server = try LoopbackServer { _ in
      .data(coded).with(.contentEncoding, "gzip")
        .with("Repr-Digest", "sha-256=:gEj4gXGQfIVsoe/bzm6hPyt2hMbC6r+J5kPRdvbfdZc=:")
    }
    #expect(try await download(from: server, verifying: .sent) == ["a"])
    #expect(try Data(contentsOf: folder.file("a")) == coded)
  }

  /// The first half of the file comes in one run, the second in another; the digest is that of both.
  @Test(arguments: [true, false]) func aResumedFileIsCheckedAsAWhole(isRight: Bool) async throws {
    let digest = try field(isRight ? Self.hexadecimal : Self.wrong)
    let server = try LoopbackServer { request in
      guard request.fields[.range] != nil else {
        return .data(Self.content).with(.eTag, "\"1\"").truncated(after: 5)
      }
      return .data(Data(Self.content.suffix(7)), status: .partialContent).with(.eTag, "\"1\"")
        .with(.contentRange, "bytes 5-11/12").with("Repr-Digest", digest)
    }
    let (request, file) = (HTTPRequest(.get, server.url("/a")), folder.file("a"))
    let error = await #expect(throws: HTTPError.self) {
      _ = try await session.resumableDownload(for: request, to: file, verifying: .sent)
    }
    let resumption = try #require(error?.resumption)
    do throws(HTTPError) {
      _ = try await session.resumableDownload(for: request, to: file, resuming: resumption, verifying: .sent)
    } catch {
      #expect(error.kind == .digestMismatch)
    }
    #expect((try? Data(contentsOf: file)) == (isRight ? Self.content : nil))
    #expect(try folder.names() == (isRight ? ["a"] : []))
  }

  @Test func theErrorOfACompleteFileWithAnotherDigestHasItsRequestAndResponse() async throws {
    let server = try LoopbackServer { request in
      guard request.fields[.range] != nil else {
        return .data(Self.content + Data("!".utf8)).with(.eTag, "\"1\"").truncated(after: Int64(Self.content.count))
      }
      return .status(416, fields: [.contentRange: "bytes */\(Self.content.count)", .eTag: "\"1\""])
    }
    let (request, file) = (HTTPRequest(.get, server.url("/a")), folder.file("a"))
    let first = await #expect(throws: HTTPError.self) { try await session.resumableDownload(for: request, to: file) }
    let kept = try #require(first?.resumption)
    let whole = DownloadResumption(
      url: kept.url, file: kept.file, byteCount: kept.byteCount, size: kept.byteCount, validator: kept.validator,
      identity: kept.identity)

    let error = await #expect(throws: HTTPError.self) {
      let digest = try #require(FileDigest(hexadecimal: Self.wrong))
      _ = try await session.resumableDownload(for: request, to: file, resuming: whole, verifying: digest)
    }

    #expect(error?.kind == .digestMismatch)
    #expect(error?.request?.url == request.url && error?.response?.status.code == 416)
  }

  @Test(arguments: ["", "ab", hexadecimal + "0", String(hexadecimal.dropLast()) + "x", hexadecimal + "00"])
  func otherTextIsNoDigest(text: String) { #expect(FileDigest(hexadecimal: text) == nil) }

  @Test func bothLengthsAreDigests() throws {
    let bytes = try #require(Data(base64Encoded: "Ccp+TqpuiunH0mEWcSkYSINkTQffuny/vEyKLgg2DVs="))
    #expect(FileDigest(hexadecimal: Self.hexadecimal) == .sha256(bytes))
    #expect(FileDigest(hexadecimal: Self.hexadecimal.uppercased() + Self.hexadecimal) == .sha512(bytes + bytes))
  }
}
