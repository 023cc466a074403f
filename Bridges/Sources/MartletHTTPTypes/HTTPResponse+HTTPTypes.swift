#if HTTPTypes
public import HTTPTypes
public import MartletEngine
public import MartletSemantics

extension ResponseHead {
  /// Makes a head from a response of swift-http-types.
  public init(_ response: HTTPTypes.HTTPResponse) {
    self.init(status: HTTPStatus(response.status.code), fields: HTTPFields(response.headerFields))
    reason = response.status.reasonPhrase
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
    self.init(body: body, url: url)
    head = ResponseHead(response)
  }
}

extension HTTPTypes.HTTPResponse {
  /// Makes a response from the head of one of Martlet's: ``Martlet/HTTPResponse/head``. In its reason phrase,
  /// characters other than visible ASCII, spaces and tabs become spaces.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.invalidRequest` if a field was refused, or if the status is not within
  ///   0...999, which only a mock can return; of kind `.unexpectedResponse` if there are more than 65,534 field lines.
  public init(_ head: ResponseHead) throws(HTTPError) {
    guard (0...999).contains(head.status.code) else {
      throw .cannotConvert("the status \(head.status.code) is not a number of three digits (RFC 9110 §15)")
    }
    self.init(
      status: Status(code: head.status.code, reasonPhrase: head.reason),
      headerFields: try HTTPTypes.HTTPFields(head.fields))
  }
}
#endif
