public import MartletSemantics

extension HAR {
  /// A request.
  public struct Request: Sendable, Hashable, Codable {
    /// The method.
    public var method: String
    /// The absolute URL, without its fragment.
    public var url: String
    /// The version of HTTP, `HTTP/1.1`; `unknown` if the transport does not report it.
    public var httpVersion: String
    /// The cookies that were sent.
    public var cookies: [Cookie]
    /// The fields; a repeated field has several elements.
    public var headers: [Pair]
    /// The decoded parameters of the query.
    public var queryString: [Pair]
    /// The body; nil if there was none, or it was not recorded.
    public var postData: PostData?
    /// The size of the head in bytes; -1 if it is not known.
    public var headersSize: Int64
    /// The size of the body in bytes; -1 if it is not known.
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
    /// The status code; 0 if there was no response.
    public var status: Int64
    /// The reason phrase that the server sent; see `ResponseHead.reason`.
    public var statusText: String
    /// The version of HTTP, `HTTP/1.1`; `unknown` if the transport does not report it.
    public var httpVersion: String
    /// The cookies that were set.
    public var cookies: [Cookie]
    /// The fields; a repeated field has several elements.
    public var headers: [Pair]
    /// The body.
    public var content: Content
    /// The `Location` field; empty if there is none.
    public var redirectURL: String
    /// The size of the head in bytes; -1 if it is not known.
    public var headersSize: Int64
    /// The size of the body in bytes as received, before decoding; -1 if it is not known.
    public var bodySize: Int64
    /// A remark.
    public var comment: String?
    /// The error of the attempt; nil if it succeeded. An extension of the format, as `_error`.
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

  /// A name and a value: of a field, or of a parameter of a query.
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
    /// Its path.
    public var path: String?
    /// Its domain.
    public var domain: String?
    /// The date at which it expires, in ISO 8601.
    public var expires: String?
    /// Whether it is hidden from scripts.
    public var httpOnly: Bool?
    /// Whether it is sent over https only.
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

extension HAR {
  /// A request's body.
  public struct PostData: Sendable, Hashable, Codable {
    /// The media type; empty if the request has none.
    public var mimeType: String
    /// The fields of a form, if they are listed separately: instead of ``text``, or in addition to it.
    public var params: [Param]?
    /// The body as text.
    public var text: String?
    /// `base64` if ``text`` is in base64. An extension of the format, as `_encoding`; `encoding` is read too.
    public var encoding: String?
    /// A remark; the recorder notes that the body was cut off.
    public var comment: String?

    private enum CodingKeys: String, CodingKey {
      case mimeType, params, text, comment
      case encoding = "_encoding"
    }

    private enum OtherKeys: String, CodingKey { case encoding }

    /// Makes a body of bytes: as text if they are text, otherwise in base64.
    public init(mimeType: String, bytes: Data) {
      self.mimeType = mimeType
      (text, encoding) = HAR.text(of: bytes, mimeType: mimeType)
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      mimeType = values.text(.mimeType) ?? ""
      params = values.value(.params)
      text = values.text(.text)
      encoding = values.text(.encoding) ?? (try? decoder.container(keyedBy: OtherKeys.self))?.text(.encoding)
      comment = values.text(.comment)
    }

    /// The bytes of the body: from ``text``, or a form made from ``params`` if there is no text. nil without both, or
    /// if the text is not valid base64.
    public var bytes: Data? { text == nil ? paramsBytes : textBytes }

    /// The bytes of ``text``; nil if there is none, or it is not valid base64.
    var textBytes: Data? { text.flatMap { HAR.bytes(of: $0, encoding: encoding) } }

    /// A form made from ``params``; nil if there are none.
    var paramsBytes: Data? {
      guard let params, !params.isEmpty else { return nil }
      return Data(PercentEncoding.form.encode(params.map { (name: $0.name, value: $0.value ?? "") }).utf8)
    }
  }

  /// A field of a form.
  public struct Param: Sendable, Hashable, Codable {
    /// Its name.
    public var name: String
    /// Its value, or the content of a file.
    public var value: String?
    /// The name of a file.
    public var fileName: String?
    /// The media type of a file.
    public var contentType: String?
    /// A remark.
    public var comment: String?

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      name = values.text(.name) ?? ""
      value = values.text(.value)
      fileName = values.text(.fileName)
      contentType = values.text(.contentType)
      comment = values.text(.comment)
    }
  }

  /// A response's body.
  public struct Content: Sendable, Hashable, Codable {
    /// The number of bytes after decoding, even of a body that was not recorded.
    public var size: Int64
    /// The number of bytes that compression saved.
    public var compression: Int64?
    /// The media type; empty if the response has none.
    public var mimeType: String
    /// The body as text; nil if it was not recorded.
    public var text: String?
    /// `base64` if ``text`` is in base64.
    public var encoding: String?
    /// A remark; the recorder notes that the body was cut off.
    public var comment: String?

    /// Makes a body that was not recorded.
    public init(size: Int64, mimeType: String) {
      self.size = size
      self.mimeType = mimeType
    }

    /// Makes a body of bytes: as text if they are text, otherwise in base64.
    public init(mimeType: String, bytes: Data) {
      self.init(size: Int64(bytes.count), mimeType: mimeType)
      (text, encoding) = HAR.text(of: bytes, mimeType: mimeType)
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(size: values.integer(.size) ?? 0, mimeType: values.text(.mimeType) ?? "")
      compression = values.integer(.compression)
      text = values.text(.text)
      encoding = values.text(.encoding)
      comment = values.text(.comment)
    }

    /// The bytes of ``text``; nil if there is none, or it is not valid base64.
    public var bytes: Data? { text.flatMap { HAR.bytes(of: $0, encoding: encoding) } }
  }
}
