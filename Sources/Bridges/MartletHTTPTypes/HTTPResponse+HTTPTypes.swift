#if HTTPTypes
public import HTTPTypes
public import MartletEngine
public import MartletSemantics

extension ResponseHead {
  /// Makes a head from a response of swift-http-types. Its reason phrase is dropped.
  public init(_ response: HTTPTypes.HTTPResponse) {
    self.init(status: HTTPStatus(response.status.code), fields: HTTPFields(response.headerFields))
  }
}

extension MartletEngine.HTTPResponse {
  /// Makes a response from one of swift-http-types, for a transport or an interceptor that returns it without the
  /// network.
  ///
  /// - Parameters:
  ///   - response: the head.
  ///   - body: the body; empty by default.
  ///   - url: the URL of the request that it answers.
  public init(_ response: HTTPTypes.HTTPResponse, body: ResponseBody = .empty, url: URL) {
    let head = ResponseHead(response)
    self.init(status: head.status, fields: head.fields, body: body, url: url)
  }
}

extension HTTPTypes.HTTPResponse {
  /// Makes a response from the head of one of Martlet's: ``Martlet/HTTPResponse/head``. The reason phrase is the one
  /// registered for the status.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.invalidRequest` if a field was refused, or if the status is not within
  ///   0...999, which only a mock can return; of kind `.unexpectedResponse` if there are more than 65,534 field lines.
  public init(_ head: ResponseHead) throws(HTTPError) {
    guard (0...999).contains(head.status.code) else {
      throw .cannotConvert("the status \(head.status.code) is not a number of three digits (RFC 9110 §15)")
    }
    self.init(
      status: Status(code: head.status.code, reasonPhrase: head.status.reasonPhrase),
      headerFields: try HTTPTypes.HTTPFields(head.fields))
  }
}
#endif
