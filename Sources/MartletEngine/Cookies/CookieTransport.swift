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
    guard request.options.handlesCookies else { return try await base.send(request, in: call) }
    var line: HTTPFields? = request.fields.contains(.cookie) ? nil : [:]
    var sent = request
    if line != nil, !jar.isEmpty {
      let context = Self.context(of: request)
      if let cookies = jar.cookiesNow(for: request.url, in: context) {
        line = Self.line(of: cookies, in: call)
      } else {
        line = await cookieLine(for: request, context, in: call)
      }
      if let cookies = line?[.cookie] { sent.fields[.cookie] = cookies }
    }
    var response = try await base.send(sent, in: call)
    response.cookieLine = line
    if response.networkHead?.fields.contains(.setCookie) == true { await store(from: response, to: request, in: call) }
    return response
  }

  // What follows is not inlined: its variables would have room in the frame of `send`, which every waiting call keeps.

  @inline(never)
  private static func context(of request: HTTPRequest) -> CookieContext {
    var context = request.options.cookieContext
    context.method = request.method
    return context
  }

  /// Stores the cookies of a response that came over the network.
  @inline(never)
  private func store(from response: HTTPResponse, to request: HTTPRequest, in call: Call) async {
    guard let head = response.networkHead else { return }
    do {
      let refusals = try await jar.store(
        from: head, for: request.url, in: Self.context(of: request), sentWith: response.cookieLine, begun: call.id)
      for refusal in refusals { call.emit(.cookieRefused(refusal)) }
    } catch {
      call.emit(.note("the cookie store failed: \(error)"))
    }
  }

  /// Returns the `Cookie` line that the jar adds to a request, or no line if it has no cookies for it. The result is
  /// nil if that is not known because the store failed.
  private func cookieLine(
    for request: HTTPRequest, _ context: CookieContext, in call: Call
  ) async -> HTTPFields? {
    do { return Self.line(of: try await jar.cookies(for: request.url, in: context), in: call) } catch {
      call.emit(.note("the cookie store failed: \(error)"))
      return nil
    }
  }

  @inline(never)
  private static func line(of cookies: [Cookie], in call: Call) -> HTTPFields? {
    guard let value = CookieList.header(cookies) else { return [:] }
    let line: HTTPFields = [.cookie: value]
    guard line.refusal == nil else {
      call.emit(.note("the cookie store holds a cookie with a control character, so no cookies are sent"))
      return nil
    }
    return line
  }
}
