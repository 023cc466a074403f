public import MartletEngine
public import MartletSemantics

/// What a mock transport answers: it becomes an `HTTPResponse` for whatever URL was asked.
///
/// The short forms of ``Answer`` make it: `.text("hello")`, `.json(#"{}"#)`, `.status(503)`. A failure in place of a
/// response is ``failure(_:)``.
public struct MockResponse: Answer {
  /// The status.
  public var status: HTTPStatus
  /// The fields.
  public var fields: HTTPFields
  /// Informational responses (1xx) that the transport announces first.
  public var interim: [ResponseHead] = []
  private let makeBody: @Sendable () -> ResponseBody
  let failure: (any Error)?

  /// Makes a response whose body is in memory.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], content: Data = Data()) {
    self.init(status: status, fields: fields) { ResponseBody(content) }
  }

  /// Makes a response whose body is pulled: from a `BodySource` that stalls, fails or never ends.
  ///
  /// - Parameters:
  ///   - status: the status; 200 by default.
  ///   - fields: the fields; none by default.
  ///   - body: called for each exchange that gets this response, because a body is read once.
  public init(
    status: HTTPStatus = .ok, fields: HTTPFields = [:], body: @escaping @Sendable () -> ResponseBody
  ) {
    self.status = status
    self.fields = fields
    makeBody = body
    failure = nil
  }

  private init(failure: any Error) {
    status = 599
    fields = [:]
    makeBody = { .empty }
    self.failure = failure
  }

  /// No response: the transport throws this error.
  public static func failure(_ error: any Error) -> MockResponse { MockResponse(failure: error) }

  /// The response to a request for that URL. A mock stands for the network: the head counts as come over the wire, so
  /// that cookies and caches believe it.
  ///
  /// - Throws: what ``failure(_:)`` was given.
  public func response(for url: URL) throws -> HTTPResponse {
    if let failure { throw failure }
    return HTTPResponse(url: url, wire: ResponseHead(status: status, fields: fields), body: makeBody())
  }
}
