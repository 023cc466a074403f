import Foundation
import Martlet
import Synchronization
import MartletTesting
import Testing

@Suite("nginx", .timeLimit(.minutes(2)))
struct NginxTests {
  let server: Nginx

  init() throws { server = try Nginx.shared.get() }

  private var session: HTTPSession { makeSession(trusting: server.authority.certificate) }

  @Test func http2IsSpokenOverTLS() async throws {
    #expect(try await session.text(server.tls("/protocol")) == "HTTP/2.0 TLSv1.3")
  }

  @Test func aClientCertificateIsShown() async throws {
    let certificate = ClientCertificate.pkcs12(
      file: server.authority.folder.file("client.p12"), password: TestAuthority.password)
    let known = makeSession(trusting: server.authority.certificate, certificate: certificate)

    #expect(try await known.text(server.client("/certificate")) == "CN=client")
    #expect(try await session.status(HTTPRequest(.get, server.client("/certificate"))) == .badRequest)
  }

  @Test func aStrangerIsNotTrusted() async throws {
    let error = await #expect(throws: HTTPError.self) { try await session.text(server.stranger("/hello.txt")) }

    #expect(error?.kind == .untrustedCertificate)
  }

  @Test func compressionIsUndone() async throws {
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.tls("/long.txt")))

    #expect(data.count == 80_000 && response.networkHead?.fields[.contentEncoding] == "gzip")
  }

  @Test func severalRangesComeAsParts() async throws {
    let request = HTTPRequest(.get, server.plain("/long.txt"), fields: [.range: "bytes=0-6,8-14"])
    let (data, response) = try await session.data(for: request)

    #expect(response.status == .partialContent && response.fields.mediaType?.essence == "multipart/byteranges")
    #expect(String(decoding: data, as: UTF8.self).components(separatedBy: "martlet").count == 3)
  }

  @Test func aRangeThatCannotBeIsRefused() async throws {
    let request = HTTPRequest(.get, server.plain("/hello.txt"), fields: [.range: "bytes=100-"])

    #expect(try await session.status(request) == .rangeNotSatisfiable)
  }

  @Test(arguments: [true, false])
  func aLargeUploadArrivesWhole(isSecure: Bool) async throws {
    let log = Wires()
    let session = makeSession(trusting: server.authority.certificate) { $0.listeners = [log] }
    let target = isSecure ? server.tls("/put") : server.plain("/put")
    let request = HTTPRequest(.put, target, fields: [.expect: "100-continue"], body: .data(pattern(20 << 20)))
    let (_, response) = try await session.data(for: request)

    #expect(response.status == .ok)
    #expect(log.sent == [20 << 20])
  }

  @Test func manyStreamsShareAConnection() async throws {
    let log = Wires()
    let session = makeSession(trusting: server.authority.certificate) { $0.listeners = [log] }
    _ = try await session.text(server.tls("/hello.txt"))
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<50 { group.addTask { try await session.text(server.tls("/hello.txt")) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(texts == Array(repeating: "hello", count: 50))
    #expect(log.ports.count == 1)
  }

  /// The connections that were used, and the amount that was sent.
  private final class Wires: EventListener {
    private let seen = Mutex<[TransferMetrics]>([])
    var ports: Set<Int?> { Set(seen.withLock { $0 }.map(\.localPort)) }
    var sent: [Int64] { seen.withLock { $0 }.map(\.bytesSent) }

    func receive(_ event: Event, in call: Call) {
      if case .metrics(let metrics) = event { seen.withLock { $0.append(metrics) } }
    }
  }
}
