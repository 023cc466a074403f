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
    ResponseLines(body: self, limit: limit)
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

  func makeAsyncIterator() -> Iterator { Iterator(lines: LineReader(body, limit: limit)) }

  /// Reads the lines.
  struct Iterator: AsyncIteratorProtocol {
    var lines: LineReader

    mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> String? {
      guard let line = try await lines.next(isolation: actor) else { return nil }
      guard let text = String(validating: line, as: UTF8.self) else {
        throw lines.end(HTTPError(.undecodableBody, "line \(lines.count) is not UTF-8", phase: .receiving))
      }
      return text
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
