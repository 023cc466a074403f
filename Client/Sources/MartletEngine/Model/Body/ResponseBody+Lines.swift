@_spi(Toolkit) public import MartletSemantics

extension ResponseBody {
  /// The body as lines of UTF-8, each at most 1 MiB: see ``lines(limit:)``.
  public var lines: some AsyncSequence<String, HTTPError> & Sendable { lines(limit: 1 << 20) }

  /// Returns the body as lines of UTF-8, without their endings (LF or CRLF). The last line needs no ending.
  ///
  /// ```swift
  /// let (body, _) = try await session.bytes(for: request, expecting: .successful)
  /// for try await line in body.lines { print(line) }
  /// ```
  ///
  /// Lines are read on demand, so that a slow reader slows the sender down. A line that is too long is an error of kind
  /// ``HTTPError/Kind/bodyTooLarge``, and a line that is not UTF-8 is one of kind ``HTTPError/Kind/undecodableBody``.
  ///
  /// - Parameter limit: the maximum number of bytes of a line.
  public func lines(limit: Int) -> some AsyncSequence<String, HTTPError> & Sendable {
    ResponseLines(body: self, limit: limit, charset: nil, invalid: .refused)
  }

  /// Returns the body as lines like ``lines(limit:)``, in any charset that ``HTTPResponse/text(of:invalid:)`` supports,
  /// except UTF-16. For text of old servers:
  ///
  /// ```swift
  /// let (body, response) = try await session.bytes(for: request, expecting: .successful)
  /// for try await line in body.lines(in: response.fields.mediaType?.charset ?? "gb18030") { print(line) }
  /// ```
  ///
  /// - Parameters:
  ///   - charset: the label of the charset.
  ///   - invalid: what happens to bytes that are not text in it; they are an error by default.
  ///   - limit: the maximum number of bytes of a line; 1 MiB by default.
  public func lines(
    in charset: String, invalid: InvalidText = .refused, limit: Int = 1 << 20
  ) -> some AsyncSequence<String, HTTPError> & Sendable {
    ResponseLines(body: self, limit: limit, charset: charset, invalid: invalid)
  }

  /// Returns the JSON values of a body that has one on each line (NDJSON, JSON Lines). Empty lines are skipped.
  ///
  /// ```swift
  /// for try await order in body.values(of: Order.self) { print(order) }
  /// ```
  ///
  /// A line that cannot be decoded is an error of kind ``HTTPError/Kind/unexpectedResponse`` with the number of the
  /// line in its message, and the line in ``HTTPError/body``. Lines are limited as in ``lines(limit:)``.
  ///
  /// - Parameters:
  ///   - type: the type of the values.
  ///   - decoder: decodes them. By default ``SessionConfiguration/decoder`` of the session that received the body; for
  ///     a body that no session received, one with Foundation's defaults.
  ///   - limit: the maximum number of bytes of a line; 1 MiB by default.
  public func values<Value: Decodable>(
    of type: Value.Type = Value.self, decoder: JSONDecoder? = nil, limit: Int = 1 << 20
  ) -> some AsyncSequence<Value, HTTPError> & Sendable {
    let own = ofSession?.decoder
    return ResponseValues<Value>(body: self, decoder: decoder ?? own ?? JSONDecoder(), limit: limit)
  }

  /// Ends the body's call with an error, and returns the error with the call's context.
  fileprivate func ended(by error: HTTPError) -> HTTPError {
    if let body = ofSession { return body.ended(by: error) }
    cancel()
    return error
  }
}

/// The lines of a response's body: see ``ResponseBody/lines(limit:)``.
private struct ResponseLines: AsyncSequence, Sendable {
  typealias Element = String
  typealias Failure = HTTPError

  let body: ResponseBody
  let limit: Int
  /// nil for UTF-8.
  let charset: String?
  let invalid: InvalidText

  func makeAsyncIterator() -> Iterator {
    let coding = charset.flatMap { TextCoding(label: $0) }.flatMap { $0.hasLines ? $0 : nil }
    return Iterator(
      lines: LineReader(body, limit: limit), charset: charset, decoder: coding.map(TextDecoder.init), invalid: invalid)
  }

  /// Reads the lines.
  struct Iterator: AsyncIteratorProtocol {
    var lines: LineReader
    let charset: String?
    /// Decodes the charset; nil for UTF-8, and if it is not supported.
    var decoder: TextDecoder?
    let invalid: InvalidText

    mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> String? {
      guard let line = try await lines.next(isolation: actor) else { return nil }
      if let charset { return try decoded(line, charset) }
      guard let text = String(validating: line, as: UTF8.self) else {
        throw lines.end(HTTPError(.undecodableBody, "line \(lines.count) is not UTF-8", phase: .receiving))
      }
      return text
    }

    private mutating func decoded(_ line: ArraySlice<UInt8>, _ charset: String) throws(HTTPError) -> String {
      guard var decoder else {
        throw lines.end(
          HTTPError(.undecodableBody, "the charset '\(charset)' is not supported for lines", phase: .receiving))
      }
      defer { self.decoder = decoder }
      do { return try decoder.decode(Data(line), replacingInvalid: invalid == .replaced) } catch {
        throw lines.end(
          error == .unavailable
            ? .unavailable(charset, Data(line))
            : HTTPError(.undecodableBody, "line \(lines.count) is not valid in \(charset)", phase: .receiving))
      }
    }

    mutating func next() async throws(HTTPError) -> String? { try await next(isolation: nil) }
  }
}

/// The JSON values on the lines of a response's body: see ``ResponseBody/values(of:decoder:limit:)``.
private struct ResponseValues<Value: Decodable>: AsyncSequence, Sendable {
  typealias Element = Value
  typealias Failure = HTTPError

  let body: ResponseBody
  let decoder: JSONDecoder
  let limit: Int

  func makeAsyncIterator() -> Iterator { Iterator(lines: LineReader(body, limit: limit), decoder: decoder) }

  /// Reads the values.
  struct Iterator: AsyncIteratorProtocol {
    var lines: LineReader
    let decoder: JSONDecoder

    mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> Value? {
      while let line = try await lines.next(isolation: actor) {
        guard !line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) else { continue }
        let data = Data(line)
        do { return try decoder.decode(Value.self, from: data) } catch {
          let reason = CodingFailure(error: error, body: data).reason
          var failure = HTTPError(
            .unexpectedResponse, "line \(lines.count) cannot be decoded as \(Value.self): \(reason)", phase: .receiving,
            underlying: error)
          failure.body = data.prefix(HTTPError.bodyPrefix)
          throw lines.end(failure)
        }
      }
      return nil
    }

    mutating func next() async throws(HTTPError) -> Value? { try await next(isolation: nil) }
  }
}

/// Reads the lines of a body as bytes. After an error there are none.
private struct LineReader {
  private let body: ResponseBody
  private let limit: Int
  private var chunks: ResponseBody.Iterator
  private var splitter: LineSplitter
  private var isAtEnd = false

  /// The number of lines so far.
  var count: Int { splitter.count }

  init(_ body: ResponseBody, limit: Int) {
    self.body = body
    self.limit = limit
    chunks = body.makeAsyncIterator()
    splitter = LineSplitter(limit: limit)
  }

  mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> ArraySlice<UInt8>? {
    while !isAtEnd {
      if let line = try split({ (splitter) throws(LineSplitter.LineTooLong) in try splitter.next() }) { return line }
      if let chunk = try await chunks.next(isolation: actor) {
        splitter.append(chunk)
      } else {
        isAtEnd = true
        return try split { (splitter) throws(LineSplitter.LineTooLong) in try splitter.last() }
      }
    }
    return nil
  }

  private mutating func split(
    _ take: (inout LineSplitter) throws(LineSplitter.LineTooLong) -> ArraySlice<UInt8>?
  ) throws(HTTPError) -> ArraySlice<UInt8>? {
    do { return try take(&splitter) } catch {
      throw end(
        HTTPError(
          .bodyTooLarge, "line \(error.number) is longer than the limit of \(limit) bytes: raise the limit",
          phase: .receiving))
    }
  }

  /// Ends the body with an error, and returns the error with the call's context.
  mutating func end(_ error: HTTPError) -> HTTPError {
    isAtEnd = true
    return body.ended(by: error)
  }
}

/// What happens to bytes that are not text in a charset.
public enum InvalidText: Sendable, Hashable {
  /// They are an error.
  case refused
  /// U+FFFD takes their place, as in browsers.
  case replaced
}

extension HTTPError {
  static func unavailable(_ label: String, _ data: Data) -> HTTPError {
    undecodable(
      "the body has the charset '\(label)', which this system's iconv does not know: install the modules of glibc "
        + "(gconv), or decode the data by other means", data)
  }

  static func undecodable(_ message: String, _ data: Data) -> HTTPError {
    var error = HTTPError(.undecodableBody, message, phase: .receiving)
    error.body = data.prefix(bodyPrefix)
    return error
  }
}
