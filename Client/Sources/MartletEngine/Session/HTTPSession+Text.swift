@_spi(Toolkit) public import MartletSemantics

extension HTTPSession {
  /// Sends the request, and collects the response's body as text, up to ``RequestOptions/collectLimit`` bytes. Runs off
  /// the caller's actor.
  ///
  /// ```swift
  /// let (text, response) = try await session.text(for: HTTPRequest(.get, url))
  /// ```
  ///
  /// - Throws: ``HTTPError``, as ``data(for:expecting:)`` and ``HTTPResponse/text(of:invalid:)``.
  @concurrent public func text(
    for request: HTTPRequest, expecting: StatusExpectation? = nil
  ) async throws(HTTPError) -> (String, HTTPResponse) {
    let (data, response) = try await data(for: request, expecting: expecting)
    do { return (try response.text(of: data), response) } catch { throw error.addingContext(of: response) }
  }
}

extension HTTPResponse {
  /// Decodes the response's body as text, in the charset that its `Content-Type` names; UTF-8 by default. All codings
  /// of the WHATWG Encoding Standard §4.2 are known by their labels, such as `gb2312`, `shift_jis` and `koi8-r`;
  /// `us-ascii` and `iso-8859-1` are other names for windows-1252. A byte order mark takes precedence and is omitted.
  ///
  /// UTF-8, UTF-16 and windows-1252 work everywhere, all others through the system's `iconv`: on Linux, if the modules
  /// of glibc are installed, which minimal images may lack, and on Apple's platforms not at all.
  ///
  /// - Parameters:
  ///   - data: the body.
  ///   - invalid: what happens to bytes that are not text in the charset; they are an error by default.
  /// - Throws: ``HTTPError`` of kind `.undecodableBody` if the charset is not supported, or the bytes are not valid in
  ///   it. ``HTTPError/body`` has the beginning of the body.
  public func text(of data: Data, invalid: InvalidText = .refused) throws(HTTPError) -> String {
    let label = fields.mediaType?.charset
    let coding = try TextCoding.named(label, data)
    do { return try coding.decode(data, replacingInvalid: invalid == .replaced) } catch {
      switch error {
      case .unavailable: throw .unavailable(label ?? coding.name, data)
      case .invalid:
        let origin = label == nil ? "the default" : "the charset of its Content-Type"
        throw .undecodable("the body is not valid in \(label ?? coding.name), \(origin)", data)
      }
    }
  }
}

extension TextCoding {
  /// Returns the coding for a label; UTF-8 for nil.
  static func named(_ label: String?, _ data: Data) throws(HTTPError) -> TextCoding {
    guard let coding = label.map({ TextCoding(label: $0) }) ?? .utf8 else {
      throw .undecodable(
        "the body has the charset '\(label ?? "")', which is not supported: decode the data by other means", data)
    }
    return coding
  }
}
