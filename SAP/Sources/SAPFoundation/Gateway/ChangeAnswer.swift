import MartletSemantics

/// Decides whether a successful response to a change is the service's own answer. All SAP modules ask it before they
/// report that something was created, stored, deleted, registered or uploaded.
///
/// A status says nothing. When a session has ended, a login page arrives with status 200, or after a redirect that made
/// a GET of the POST. What the change's own protocol requires of an answer comes on top: OData's payload, or 204.
enum ChangeAnswer {
  /// Returns why a response with a 2xx status does not confirm a change, for messages; nil if it may confirm it.
  ///
  /// - Parameters:
  ///   - redirected: the request that was redirected, perhaps several times; nil without a redirect.
  ///   - last: the request that the response belongs to; nil if it did not come over the network.
  ///   - fields: the fields of the response.
  ///   - body: its body.
  static func objection(
    redirected: RequestHead?, last: RequestHead?, fields: HTTPFields, body: Data
  ) -> String? {
    if let redirected, let last {
      if Origin(redirected.url) != Origin(last.url) {
        return "the request was redirected to another server, as to a login page"
      }
      if redirected.method != last.method {
        return "the request was redirected and became \(last.method), as for a login page"
      }
    }
    guard !body.isEmpty else { return nil }
    let type = fields[.contentType].flatMap { MediaType($0) }
    if let type, ["html", "xhtml+xml"].contains(type.subtype) {
      return "the answer is a page (\(type.type)/\(type.subtype)), such as a login page"
    }
    if ReadableText.isMarkup(body), !["xml", "atom+xml"].contains(type?.subtype ?? "") {
      return "the answer is a page, such as a login page"
    }
    return ODataErrorPayload(ofSuccess: body).map { "the answer is an error: \($0.error.text ?? $0.error.code)" }
  }
}

/// The error of a change whose response has a 2xx status, and does not come from the service.
struct UnconfirmedChange: SAPError {
  let objection: String

  var description: String {
    "The service did not confirm the change: \(objection). Sign in, check whether it was made, and repeat it if not."
  }
  var errorDescription: String? { description }
}
