public import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// The wire, spoken by Foundation's URLSession: the default on Apple's platforms.
///
/// On Linux it is there for comparison and for configurations with `protocolClasses`; `CurlTransport` is the better one,
/// because Foundation's own implementation there has limits that no caller can lift:
///
/// | limit on Linux | what that means |
/// |---|---|
/// | the sender never waits for a slow reader | what is not read piles up in memory |
/// | a path with `..` is shortened, a GET with a body refused | the request is not sent as it was written |
/// | no metrics | ``Event/metrics(_:)`` never comes |
/// | a response's failed TLS handshake has no name | it is an error of kind `.other` |
///
/// On every platform a repeated field arrives as one line, because Foundation joins the lines; those of `Set-Cookie` are
/// taken apart again where a comma is followed by a new cookie's name, which a value with a comma in it can deceive. The
/// order of fields and the trailers are lost, and bodies are decompressed whatever `Accept-Encoding` says.
///
/// A body that is a stream is sent when it has been read to its end, from memory up to 1 MiB and from a temporary file
/// beyond, with its length: Foundation cannot be trusted with streams everywhere.
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.protocolClasses = [RecordedAnswers.self]
/// let session = HTTPSession(transport: URLSessionTransport(configuration))
/// ```
public struct URLSessionTransport: Transport {
  private let owner: SessionOwner

  /// Makes a transport with its own `URLSession`.
  ///
  /// - Parameter configuration: copied. Its cookies, cache and credentials are left out: those are the engine's. Its
  ///   timeouts have no effect: ``RequestOptions/responseTimeout`` and ``RequestOptions/idleTimeout`` are obeyed.
  ///   An ephemeral one by default.
  public init(_ configuration: URLSessionConfiguration = .ephemeral) {
    owner = SessionOwner(configuration)
  }

  /// Sends the request and returns the final response's head, its body still to be read.
  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let outgoing = try await OutgoingRequest(request)
    let body = URLSessionBody(outgoing, options: request.options, on: owner, in: exchange)
    let head = try await body.head()
    var response = HTTPResponse(to: request, wire: head, from: body)
    guard response.body.length != 0, head.fields.contains(.contentEncoding) else { return response }
    // URLSession undoes every coding that it knows, whatever the request says
    response.fields.remove(.contentEncoding)
    response.fields.remove(.contentLength)
    response.body = ResponseBody(from: body)
    return response
  }
}
