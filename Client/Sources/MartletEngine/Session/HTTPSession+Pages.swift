@_spi(Toolkit) public import MartletSemantics

extension HTTPSession {
  /// Returns the pages of a list that a server splits, each decoded from JSON. The `next` links in the `Link` fields of
  /// the responses lead from page to page (RFC 8288).
  ///
  /// ```swift
  /// for try await orders in session.pages(of: [Order].self, for: HTTPRequest(.get, url)) {
  ///   print(orders.count)
  /// }
  /// ```
  ///
  /// Each page is requested on demand, like ``value(of:for:expecting:decoder:)``. Later pages are requested with a GET
  /// and with the request's fields and options. A link to another origin is followed like a redirect: without the
  /// session's default fields, credentials, cookies and other fields with names of secrets, and only if
  /// ``RequestOptions/redirectPolicy`` follows such redirects. It is never followed from https to http unless the
  /// policy allows that.
  ///
  /// The sequence ends after a page without a link to the next one. It throws the errors of
  /// ``value(of:for:expecting:decoder:)``, and an ``HTTPError`` of kind `.unexpectedResponse` if a link cannot be
  /// followed or leads back to an earlier page, or if there are more pages than the limit.
  ///
  /// - Parameters:
  ///   - type: the type of a page.
  ///   - request: the request for the first page.
  ///   - limit: the maximum number of pages; 1000 by default. One more is an error.
  ///   - expecting: the statuses of pages; by default the ones in the options, or any 2xx if the options set none.
  ///   - decoder: decodes the pages; ``SessionConfiguration/decoder`` by default.
  public func pages<Page: Decodable>(
    of type: Page.Type = Page.self, for request: HTTPRequest, limit: Int = 1000, expecting: StatusExpectation? = nil,
    decoder: JSONDecoder? = nil
  ) -> some AsyncSequence<Page, HTTPError> & Sendable {
    var first = resolved(askingForJSON(request, expecting))
    first.options.redirectPolicy = sharedOptions(of: request).value.redirectPolicy
    return ResponsePages<Page>(session: self, request: first, limit: limit, decoder: decoder)
  }
}

/// The pages of a list: see ``HTTPSession/pages(of:for:limit:expecting:decoder:)``.
private struct ResponsePages<Page: Decodable>: AsyncSequence, Sendable {
  typealias Element = Page
  typealias Failure = HTTPError

  let session: HTTPSession
  let request: HTTPRequest
  let limit: Int
  let decoder: JSONDecoder?

  func makeAsyncIterator() -> Iterator { Iterator(self) }

  /// Reads the pages.
  struct Iterator: AsyncIteratorProtocol {
    private enum Step {
      case request(HTTPRequest)
      /// The last page was returned; its link cannot be followed.
      case fail(HTTPError)
      case end
    }

    private let pages: ResponsePages
    private var step: Step
    private var visited: Set<URL> = []
    private var count = 0

    init(_ pages: ResponsePages) {
      self.pages = pages
      step = .request(pages.request)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> Page? {
      let step = step
      self.step = .end
      switch step {
      case .end: return nil
      case .fail(let error): throw error
      case .request(let request):
        let (data, response) = try await pages.session.data(for: request, continuing: pages.request)
        let page = try pages.session.decode(Page.self, from: data, of: response, by: pages.decoder)
        self.step = self.step(after: response, to: request)
        return page
      }
    }

    mutating func next() async throws(HTTPError) -> Page? { try await next(isolation: nil) }

    private mutating func step(after response: HTTPResponse, to request: HTTPRequest) -> Step {
      count += 1
      visited.formUnion([request.url.withoutFragment, response.url.withoutFragment])
      let next: HTTPRequest
      do throws(HTTPError) {
        guard let request = try request.following(response) else { return .end }
        next = request
      } catch { return .fail(error) }
      if visited.contains(next.url.withoutFragment) {
        let message = "the link to the next page leads to one that was read, \(next.url.redacted)"
        return .fail(.unexpected(message, response))
      }
      guard count < pages.limit else {
        let message = "there are more pages than the limit of \(pages.limit): raise the limit"
        return .fail(.unexpected(message, response))
      }
      return .request(next)
    }
  }
}

extension URL {
  fileprivate var withoutFragment: URL {
    guard fragment(percentEncoded: true) != nil, var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    else { return self }
    parts.percentEncodedFragment = nil
    return parts.url ?? self
  }
}

extension HTTPRequest {
  /// Returns the request for the next page; nil after the last page.
  fileprivate func following(_ response: HTTPResponse) throws(HTTPError) -> HTTPRequest? {
    let link = response.fields.links.first { $0.relations.contains("next") && $0.anchor == nil }
    guard let link else { return nil }
    let redirect = options.redirectPolicy.rule.decide(
      linkTo: link.target, named: "the link to the next page", at: response.url, after: head)
    switch redirect {
    case .none: return nil
    case .refuse(let reason): throw .unexpected(reason, response)
    case .follow(let head, let keepsBody):
      var next = self
      next.head = head
      if !keepsBody { next.body = .empty }
      return next
    }
  }
}
