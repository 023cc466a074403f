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
    let sent = await addingCookies(to: request, context, exchange)
    var response = try await base.send(sent, in: exchange)
    if !request.fields.contains(.cookie) { response.cookieLine = sent.fields[.cookie] ?? "" }
    guard let fields = response.wire?.fields, fields.contains(.setCookie) else { return response }
    do {
      let refusals = try await jar.store(
        from: fields, for: request.url, in: context, sentWith: response.cookieLine)
      for refusal in refusals {
        exchange.emit(.cookieRefused(refusal))
      }
    } catch {
      exchange.emit(.note("the cookie store failed: \(error)"))
    }
    return response
  }

  /// The request with its `Cookie` line. A line of the caller's own stays what it is, and nothing is added to it.
  private func addingCookies(
    to request: HTTPRequest, _ context: CookieContext, _ exchange: Exchange
  ) async -> HTTPRequest {
    guard !request.fields.contains(.cookie) else { return request }
    do {
      guard let line = try await jar.cookieHeader(for: request.url, in: context) else { return request }
      var result = request
      result.fields[.cookie] = line
      guard result.fields.contains(.cookie) else {
        exchange.emit(.note("the cookie store holds a cookie with a control character: none were sent"))
        return request
      }
      return result
    } catch {
      exchange.emit(.note("the cookie store failed: \(error)"))
      return request
    }
  }
}
