import Foundation
import Martlet
import MartletTesting
import Testing

@Suite("Apache httpd", .timeLimit(.minutes(2)))
struct ApacheTests {
  let server: Apache

  init() throws { server = try Apache.shared.get() }

  private var session: HTTPSession { makeSession(trusting: server.authority.certificate) }

  @Test func http2IsSpokenOverTLS() async throws {
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.tls("/hello.txt")))

    #expect(String(decoding: data, as: UTF8.self) == "hello" && response.networkHead?.version == .http2)
  }

  @Test func aClientCertificateIsShown() async throws {
    let certificate = ClientCertificate.pkcs12(
      file: server.authority.folder.file("client.p12"), password: TestAuthority.password)
    let known = makeSession(trusting: server.authority.certificate, certificate: certificate)
    let (_, response) = try await known.data(for: HTTPRequest(.get, server.client("/hello.txt")))
    #expect(response.fields["X-Client"] == "client")

    let error = await #expect(throws: HTTPError.self) { try await session.text(server.client("/hello.txt")) }
    #expect(error?.isTLSFailure == true || error?.kind == .connectionLost, "\(String(describing: error))")
  }

  /// Over HTTP/2, Apache tells the client to use HTTP/1.1 (RFC 9113 §9.2.3).
  @Test(arguments: [true, false], [ConnectionConfiguration.Versions.http1, .automatic])
  func aClientCertificateIsShownWhereAPathAsksForIt(
    isOld: Bool, versions: ConnectionConfiguration.Versions
  ) async throws {
    func url(_ path: String) -> URL { isOld ? server.old(path) : server.partial(path) }
    var connection = ConnectionConfiguration()
    (connection.versions, connection.proxy) = (versions, .direct)
    connection.tls.authorities = server.authority.certificate
    let stranger = HTTPSession(connection: connection)
    connection.tls.clientCertificate = .pkcs12(
      file: server.authority.folder.file("client.p12"), password: TestAuthority.password)
    let known = HTTPSession(connection: connection)

    for path in ["/hello.txt", "/known/file.txt", "/asked/file.txt", "/hello.txt"] {
      let (data, response) = try await known.data(for: HTTPRequest(.get, url(path)))
      #expect(String(decoding: data, as: UTF8.self) == "hello", "\(path): \(response.status)")
      if path.hasSuffix("file.txt") { #expect(response.fields["X-Client"] == "client", "\(path)") }
    }
    let (data, response) = try await stranger.data(for: HTTPRequest(.get, url("/asked/file.txt")))
    #expect(String(decoding: data, as: UTF8.self) == "hello" && response.fields["X-Client"] != "client")
    // A server of TLS 1.3 may also refuse in the response: the connection then goes on.
    do {
      let (_, refusal) = try await stranger.data(for: HTTPRequest(.get, url("/known/file.txt")))
      #expect(!isOld && refusal.status == .forbidden, "\(refusal.status)")
    } catch {
      #expect(error.isTLSFailure && !error.isUnsent, "\(error)")
    }
  }

  @Test func rangesAndValidatorsWork() async throws {
    let (_, whole) = try await session.data(for: HTTPRequest(.get, server.plain("/hello.txt")))
    let tag = try #require(whole.fields[.eTag])
    let part: HTTPFields = [.range: "bytes=1-3", .ifRange: tag]
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.plain("/hello.txt"), fields: part))

    #expect(response.status == .partialContent && String(decoding: data, as: UTF8.self) == "ell")
    let stale: HTTPFields = [.range: "bytes=1-3", .ifRange: "\"other\""]
    #expect(try await session.status(HTTPRequest(.get, server.plain("/hello.txt"), fields: stale)) == .ok)
    let known: HTTPFields = [.ifNoneMatch: tag]
    #expect(try await session.status(HTTPRequest(.get, server.plain("/hello.txt"), fields: known)) == .notModified)
  }

  @Test func compressionIsUndone() async throws {
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.plain("/long.txt")))

    #expect(data.count == 80_000 && response.networkHead?.fields[.contentEncoding] == "gzip")
  }

  @Test func aRedirectIsFollowed() async throws {
    #expect(try await session.text(server.tls("/moved")) == "hello")
  }

  @Test(arguments: [true, false], [true, false])
  func aLargeUploadComesBack(isSecure: Bool, expectsContinue: Bool) async throws {
    let content = pattern(8 << 20)
    let path = "/dav/\(isSecure)-\(expectsContinue).bin"
    let target = isSecure ? server.tls(path) : server.plain(path)
    let fields: HTTPFields = expectsContinue ? [.expect: "100-continue"] : [:]
    let body = RequestBody.stream { pieces(of: content, size: 100_000) }
    let status = try await session.status(HTTPRequest(.put, target, fields: fields, body: body))
    let (stored, _) = try await session.data(for: HTTPRequest(.get, target))

    #expect(status == .created && stored == content)
    #expect(try await session.status(HTTPRequest(.delete, target)) == .noContent)
  }

  @Test func aRefusedUploadIsAnsweredBeforeItsBody() async throws {
    let fields: HTTPFields = [.expect: "100-continue"]
    let request = HTTPRequest(.put, server.plain("/basic/x"), fields: fields, body: .data(pattern(4 << 20)))

    #expect(try await session.status(request) == .unauthorized)
  }

  @Test func aFolderIsListedByItsOwnMethod() async throws {
    let (data, response) = try await session.data(
      for: HTTPRequest("PROPFIND", server.plain("/dav/"), fields: ["Depth": "0"]))

    #expect(response.status == .multiStatus && String(decoding: data, as: UTF8.self).contains("<D:multistatus"))
  }
}
