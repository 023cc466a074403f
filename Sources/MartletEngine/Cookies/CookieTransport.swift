import MartletSemantics

/// Adds the cookies of the jar to requests, and stores those of responses, for every request of a redirect chain.
///
/// Cookies are stored only from a head that came over the network in this call: a response from the cache must not set
/// old cookies again. Those of informational responses are ignored, as RFC 6265bis §5.6 allows.
struct CookieTransport: Transport {
  let base: any Transport
  let jar: CookieJar

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard request.options.handlesCookies else { return try await base.send(request, in: call) }
    var context = request.options.cookieContext
    context.method = request.method
    let line = await cookieLine(for: request, context, call)
    var sent = request
    if let cookies = line?[.cookie] { sent.fields[.cookie] = cookies }
    var response = try await base.send(sent, in: call)
    response.cookieLine = line
    guard let head = response.networkHead, head.fields.contains(.setCookie) else { return response }
    do {
      let refusals = try await jar.store(from: head, for: request.url, in: context, sentWith: line, begun: call.id)
      for refusal in refusals { call.emit(.cookieRefused(refusal)) }
    } catch {
      call.emit(.note("the cookie store failed: \(error)"))
    }
    return response
  }

  /// Returns the `Cookie` line that the jar adds to a request, or no line if it has no cookies for it. The result is
  /// nil if that is not known because the store failed, or if the caller has set a line, to which nothing is added.
  private func cookieLine(
    for request: HTTPRequest, _ context: CookieContext, _ call: Call
  ) async -> HTTPFields? {
    guard !request.fields.contains(.cookie) else { return nil }
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
