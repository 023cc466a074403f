import MartletSemantics

/// Adds the jar's cookies to what goes out, and takes those that come back.
///
/// It sees every hop of a redirect. It stores only from the head that came over the network in this exchange: what a cache
/// answers must not set old cookies again. Informational responses set none (RFC 6265bis §5.6 allows to ignore them).
struct CookieTransport: Transport {
  let base: any Transport
  let jar: CookieJar

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    guard request.options.handlesCookies else { return try await base.send(request, in: exchange) }
    var context = request.options.cookieContext
    context.method = request.method
    let line = await cookieLine(for: request, context, exchange)
    var sent = request
    if let cookies = line?[.cookie] { sent.fields[.cookie] = cookies }
    var response = try await base.send(sent, in: exchange)
    response.cookieLine = line
    guard let head = response.wire, head.fields.contains(.setCookie) else { return response }
    do {
      let refusals = try await jar.store(
        from: head, for: request.url, in: context, sentWith: line)
      for refusal in refusals {
        exchange.emit(.cookieRefused(refusal))
      }
    } catch {
      exchange.emit(.note("the cookie store failed: \(error)"))
    }
    return response
  }

  /// The `Cookie` line that the jar adds to a request, without a line where it has nothing to send. Nil where it does not know: the
  /// store failed, or the caller has a line of its own, to which nothing is added.
  private func cookieLine(
    for request: HTTPRequest, _ context: CookieContext, _ exchange: Exchange
  ) async -> HTTPFields? {
    guard !request.fields.contains(.cookie) else { return nil }
    do {
      guard let cookies = try await jar.cookieHeader(for: request.url, in: context) else { return [:] }
      let line: HTTPFields = [.cookie: cookies]
      guard line.refusal == nil else {
        exchange.emit(.note("the cookie store holds a cookie with a control character: none were sent"))
        return nil
      }
      return line
    } catch {
      exchange.emit(.note("the cookie store failed: \(error)"))
      return nil
    }
  }
}
