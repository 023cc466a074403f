import MartletSemantics

/// Adds the cookies of the jar to requests, and stores those of responses, for every request of a redirect chain.
///
/// Cookies are stored only from a head that came over the network in this call: a response from the cache must not set
/// old cookies again. Those of informational responses are ignored, as RFC 6265bis §5.6 allows.
struct CookieTransport: Transport, DeadlineAware {
  let base: any Transport
  let jar: CookieJar
  var endsAtDeadline: Bool { jar.endsAtDeadline && Deadline.ends(base) }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let context = Self.context(of: request) else { return try await base.send(request, in: call) }
    var line: HTTPFields? = request.fields.contains(.cookie) ? nil : [:]
    var sent = request
    if line != nil, !jar.isEmpty {
      line = await cookieLine(for: request, context, call)
      if let cookies = line?[.cookie] { sent.fields[.cookie] = cookies }
    }
    var response = try await base.send(sent, in: call)
    response.cookieLine = line
    if let head = response.networkHead, head.fields.contains(.setCookie) {
      await store(from: head, for: request, context, sentWith: line, in: call)
    }
    return response
  }

  // What follows is not inlined: its variables would have room in the frame of `send`, which every waiting call keeps.

  /// Returns the context of a request's cookies; nil if it has none.
  @inline(never)
  private static func context(of request: HTTPRequest) -> CookieContext? {
    let options = request.options
    guard options.handlesCookies else { return nil }
    var context = options.cookieContext
    context.method = request.method
    return context
  }

  @inline(never)
  private func store(
    from head: ResponseHead, for request: HTTPRequest, _ context: CookieContext, sentWith line: HTTPFields?,
    in call: Call
  ) async {
    do {
      let refusals = try await jar.store(from: head, for: request.url, in: context, sentWith: line, begun: call.id)
      for refusal in refusals { call.emit(.cookieRefused(refusal)) }
    } catch {
      call.emit(.note("the cookie store failed: \(error)"))
    }
  }

  /// Returns the `Cookie` line that the jar adds to a request, or no line if it has no cookies for it. The result is
  /// nil if that is not known because the store failed.
  private func cookieLine(
    for request: HTTPRequest, _ context: CookieContext, _ call: Call
  ) async -> HTTPFields? {
    do {
      guard let cookies = try await jar.cookieHeader(for: request.url, in: context) else { return [:] }
      let line: HTTPFields = [.cookie: cookies]
      guard line.refusal == nil else {
        call.emit(.note("the cookie store holds a cookie with a control character, so no cookies are sent"))
        return nil
      }
      return line
    } catch {
      call.emit(.note("the cookie store failed: \(error)"))
      return nil
    }
  }
}
