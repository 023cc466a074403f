extension HAR {
  /// A request.
  public struct Request: Sendable, Hashable, Codable {
    /// The method.
    public var method: String
    /// The absolute URL, without its fragment.
    public var url: String
    /// The version of HTTP, `HTTP/1.1`; `unknown` where the transport does not tell.
    public var httpVersion: String
    /// The cookies that were sent.
    public var cookies: [Cookie]
    /// The fields, repeated lines kept.
    public var headers: [Pair]
    /// The parameters of the query, decoded.
    public var queryString: [Pair]
    /// The body; nil where there was none, or it was not recorded.
    public var postData: PostData?
    /// The bytes of the head; -1 where that is not known.
    public var headersSize: Int64
    /// The bytes of the body; -1 where that is not known.
    public var bodySize: Int64
    /// A remark.
    public var comment: String?

    /// Makes a request without a body.
    public init(method: String, url: String, httpVersion: String = "unknown") {
      self.method = method
      self.url = url
      self.httpVersion = httpVersion
      (cookies, headers, queryString) = ([], [], [])
      (headersSize, bodySize) = (-1, -1)
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        method: values.text(.method) ?? "GET", url: values.text(.url) ?? "",
        httpVersion: values.text(.httpVersion) ?? "unknown")
      cookies = values.value(.cookies) ?? []
      headers = values.value(.headers) ?? []
      queryString = values.value(.queryString) ?? []
      postData = values.value(.postData)
      headersSize = values.integer(.headersSize) ?? -1
      bodySize = values.integer(.bodySize) ?? -1
      comment = values.text(.comment)
    }
  }

  /// A response.
  public struct Response: Sendable, Hashable, Codable {
    /// The status code; 0 where there was no response.
    public var status: Int64
    /// The reason phrase.
    public var statusText: String
    /// The version of HTTP, `HTTP/1.1`; `unknown` where the transport does not tell.
    public var httpVersion: String
    /// The cookies that were set.
    public var cookies: [Cookie]
    /// The fields, repeated lines kept.
    public var headers: [Pair]
    /// The body.
    public var content: Content
    /// The `Location` field; empty where there is none.
    public var redirectURL: String
    /// The bytes of the head; -1 where that is not known.
    public var headersSize: Int64
    /// The bytes of the body on the wire; -1 where that is not known.
    public var bodySize: Int64
    /// A remark.
    public var comment: String?
    /// What failed. An addition to the format, as `_error`.
    public var error: String?

    private enum CodingKeys: String, CodingKey {
      case status, statusText, httpVersion, cookies, headers, content, redirectURL, headersSize, bodySize, comment
      case error = "_error"
    }

    /// Makes a response without a body.
    public init(status: Int64, statusText: String = "", httpVersion: String = "unknown") {
      self.status = status
      self.statusText = statusText
      self.httpVersion = httpVersion
      (cookies, headers) = ([], [])
      content = Content(size: 0, mimeType: "")
      redirectURL = ""
      (headersSize, bodySize) = (-1, -1)
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        status: values.integer(.status) ?? 0, statusText: values.text(.statusText) ?? "",
        httpVersion: values.text(.httpVersion) ?? "unknown")
      cookies = values.value(.cookies) ?? []
      headers = values.value(.headers) ?? []
      content = values.value(.content) ?? content
      redirectURL = values.text(.redirectURL) ?? ""
      headersSize = values.integer(.headersSize) ?? -1
      bodySize = values.integer(.bodySize) ?? -1
      comment = values.text(.comment)
      error = values.text(.error)
    }
  }

  /// A name and a value: a field, or a parameter of a query.
  public struct Pair: Sendable, Hashable, Codable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String
    /// A remark.
    public var comment: String?

    /// Makes a pair.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(name: values.text(.name) ?? "", value: values.text(.value) ?? "")
      comment = values.text(.comment)
    }
  }

  /// A cookie, sent or set.
  public struct Cookie: Sendable, Hashable, Codable {
    /// Its name.
    public var name: String
    /// Its value.
    public var value: String
    /// The path that it was set for.
    public var path: String?
    /// The domain that it was set for.
    public var domain: String?
    /// When it ends, in ISO 8601.
    public var expires: String?
    /// Whether scripts cannot see it.
    public var httpOnly: Bool?
    /// Whether it is for https only.
    public var secure: Bool?
    /// A remark.
    public var comment: String?

    /// Makes a cookie.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(name: values.text(.name) ?? "", value: values.text(.value) ?? "")
      path = values.text(.path)
      domain = values.text(.domain)
      expires = values.text(.expires)
      httpOnly = values.value(.httpOnly)
      secure = values.value(.secure)
      comment = values.text(.comment)
    }
  }
}
