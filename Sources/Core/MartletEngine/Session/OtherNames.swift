public import MartletSemantics

// Names that other clients use, so that the compiler says what they are called here.

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
}
