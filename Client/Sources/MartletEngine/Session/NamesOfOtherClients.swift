public import MartletSemantics

// Names from other clients, so that the compiler can tell their counterparts here.

extension HTTPRequest {
  /// Use ``fields``.
  @available(*, unavailable, renamed: "fields")
  public var headers: HTTPFields { fields }

  /// Use ``RequestOptions/responseTimeout`` of ``options``, or ``RequestOptions/deadline`` for the whole call.
  @available(*, unavailable, message: "use options.responseTimeout, or options.deadline for the whole call")
  public var timeout: Duration? { options.responseTimeout }

  /// Use ``RequestOptions/cachePolicy`` of ``options``.
  @available(*, unavailable, message: "use options.cachePolicy")
  public var cachePolicy: CachePolicy { options.cachePolicy }
}

extension HTTPRequest {
  /// Use ``init(_:_:body:)``, whose first argument is the method.
  @available(*, unavailable, message: "use HTTPRequest(.get, url)")
  public init(url: URL) { self.init(.get, url) }

  /// Use ``fields``: `request.fields["Accept"] = "text/html"`.
  @available(*, unavailable, message: "use request.fields[\"Name\"] = value")
  public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}

  /// Use ``fields``, and its `append(_:for:)`.
  @available(*, unavailable, message: "use request.fields.append(value, for: \"Name\")")
  public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {}
}

extension HTTPSession {
  /// Use ``data(for:expecting:)``, or ``bytes(for:expecting:)`` for a body that is read as it arrives.
  @available(*, unavailable, message: "use data(for: HTTPRequest(.get, url))")
  public func get(_ url: URL) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await data(for: HTTPRequest(.get, url))
  }

  /// Use ``data(for:expecting:)``, or ``upload(for:from:expecting:)``.
  @available(*, unavailable, message: "use data(for: HTTPRequest(.post, url, body: body))")
  public func post(_ url: URL, body: RequestBody = .empty) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await data(for: HTTPRequest(.post, url, body: body))
  }

  /// Use ``data(for:expecting:)``.
  @available(*, unavailable, message: "use data(for: HTTPRequest(.get, url))")
  public func data(from url: URL) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await data(for: HTTPRequest(.get, url))
  }
}

extension HTTPResponse {
  /// Use ``fields``.
  @available(*, unavailable, renamed: "fields")
  public var headers: HTTPFields { fields }

  /// Use ``status``, whose number is `status.code`.
  @available(*, unavailable, message: "use status, or status.code for the number")
  public var statusCode: Int { Int(status.code) }
}

extension RequestOptions {
  /// Use ``responseTimeout``, or ``deadline`` for the whole call.
  @available(*, unavailable, message: "use responseTimeout, or deadline for the whole call")
  public var timeout: Duration? { responseTimeout }
}

extension SessionConfiguration {
  /// Use ``cookies``.
  @available(*, unavailable, renamed: "cookies")
  public var cookieJar: CookieJar? { cookies }

  /// Use ``RequestOptions/responseTimeout`` of ``options``, or ``RequestOptions/deadline`` for the whole call.
  @available(*, unavailable, message: "use options.responseTimeout, or options.deadline for the whole call")
  public var timeout: Duration? { options.responseTimeout }

  /// Use ``RequestOptions/retryPolicy`` of ``options``.
  @available(*, unavailable, renamed: "options.retryPolicy")
  public var retryPolicy: RetryPolicy { options.retryPolicy }
}

extension HTTPCache {
  /// Not available: use ``removeAll()``.
  @available(*, unavailable, renamed: "removeAll()")
  public func removeAllCachedResponses() {}
}
