import Foundation
import Martlet
import Testing

/// Answers that refuse, that arrive early, and that have more than a body.
@Suite("Servers: answers", .timeLimit(.minutes(5)))
struct AnswerContractTests {
  @Test(arguments: ContractRow.rows())
  func theVersionIsTheOneThatWasAskedFor(row: ContractRow) async throws {
    let (text, response) = try await row.session().text(for: HTTPRequest(.get, row.url("/hello")))

    #expect(text == "hello" && response.networkHead?.version == (row.version == .http1 ? .http1_1 : .http2))
  }

  @Test(arguments: ContractRow.rows(with: .clientCertificate))
  func withoutACertificateTheRequestIsRefused(row: ContractRow) async throws {
    let session = try row.session(showsCertificate: false)
    let request = HTTPRequest(.get, try row.url("/hello"))
    do {
      // nginx completes the handshake, and refuses the request
      #expect(try await session.status(request) == .badRequest)
    } catch {
      #expect(error.isTLSFailure || error.kind == .connectionLost, "\(error)")
    }
  }

  @Test(arguments: ContractRow.rows(with: .compression))
  func aCompressedBodyIsDecoded(row: ContractRow) async throws {
    let (text, response) = try await row.session().text(for: HTTPRequest(.get, row.url("/text")))

    #expect(text == String(repeating: "martlet ", count: 10_000))
    #expect(response.networkHead?.fields[.contentEncoding] == "gzip")
  }

  @Test(arguments: ContractRow.rows(with: .earlyAnswer), [true, false])
  func anAnswerBeforeTheBodyHasComeIsReceived(row: ContractRow, hasLength: Bool) async throws {
    let pattern = try row.pattern
    let session = try row.session()
    let body = RequestBody.stream(length: hasLength ? Int64(pattern.bytes.count) : nil) { pattern.pieces }
    let status = try await session.status(HTTPRequest(.post, row.url("/early"), body: body))

    #expect(status == (hasLength || row.has(.lengthlessUpload) ? .forbidden : .lengthRequired))
    #expect(try await session.text(row.url("/hello")) == "hello")
  }

  @Test(arguments: ContractRow.rows(with: .bodyLimit))
  func aBodyThatIsTooLongIsRefused(row: ContractRow) async throws {
    let session = try row.session()
    let request = HTTPRequest(.put, try row.url("/small"), body: .file(try row.pattern.file))

    let status = try await session.status(request)
    // Caddy answers 502 if its origin ends first
    #expect(status == HTTPStatus(413) || (row.server.name == "Caddy" && status == .badGateway))
    #expect(try await session.text(row.url("/hello")) == "hello")
  }

  @Test(arguments: ContractRow.rows(with: .largeField))
  func aFieldThatIsTooLongSpoilsNoOtherRequest(row: ContractRow) async throws {
    let session = try row.session()
    let fields: HTTPFields = ["X-Long": try #require(.init(String(repeating: "a", count: 100_000)))]
    let request = HTTPRequest(.get, try row.url("/hello"), fields: fields)
    do {
      let status = try await session.status(request)
      #expect(row.server.largeField[row.version] == .status(status.code))
    } catch {
      let answer = error.response.map { ContractServer.LargeField.cut($0.status.code) } ?? .failure
      #expect(row.server.largeField[row.version] == answer, "\(error)")
    }
    #expect(try await session.text(row.url("/hello")) == "hello")
  }

  @Test(arguments: ContractRow.rows())
  func aBodyFollowsItsExpectation(row: ContractRow) async throws {
    let pattern = try row.pattern
    let fields: HTTPFields = [.expect: "100-continue"]
    var request = HTTPRequest(.put, try row.url("/sink"), fields: fields, body: .file(pattern.file))
    // h2o sends no 100 over HTTP/2, and ends connections that were idle for a second, also while a body waits.
    request.options.continueTimeout = .milliseconds(250)

    #expect(try await row.session().text(for: request).0 == pattern.receipt())
  }

  @Test(arguments: ContractRow.rows(with: .requestTrailers))
  func trailersFollowARequest(row: ContractRow) async throws {
    let pattern = try row.pattern
    let body = RequestBody.stream(trailers: { ["X-Sum": "42"] }) { pattern.pieces }
    let request = HTTPRequest(.post, try row.url("/sink"), fields: [.trailer: "X-Sum"], body: body)

    #expect(try await row.session().text(for: request).0 == pattern.receipt(trailer: "42"))
  }

  @Test(arguments: ContractRow.rows(with: .responseTrailers))
  func trailersFollowAResponse(row: ContractRow) async throws {
    let (body, response) = try await row.session().bytes(
      for: HTTPRequest(.get, row.url("/trailers"), fields: ["TE": "trailers"]))

    #expect(try await body.collect(upTo: 100) == Data("body".utf8))
    #expect(response.trailers["X-Sum"] == "42")
  }
}
