public import MartletSemantics
import Synchronization

/// The body of a response: a sequence of chunks that one reader pulls once.
///
/// ```swift
/// for try await chunk in response.body { print(chunk.count) }   // as it arrives
/// let data = try await response.body.collect(upTo: 1 << 20)   // in memory, with a limit
/// ```
///
/// Only a small buffer is read ahead, so that a slow reader slows the sender down (backpressure). Reading a body twice
/// is an error of kind ``HTTPError/Kind/bodyAlreadyRead``. If a body is released before its end, its connection is
/// closed.
public struct ResponseBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = HTTPError

  /// The number of bytes; nil if it is not known before the end.
  public let length: Int64?
  @_spi(Transports) public let source: any BodySource
  private let claim = Claim()

  /// Makes a body of a source.
  public init(length: Int64? = nil, from source: any BodySource) {
    self.length = length
    self.source = source
  }

  /// Makes a body of bytes in memory.
  public init(_ data: Data) {
    self.init(length: Int64(data.count), from: DataSource(data))
  }

  /// An empty body.
  public static var empty: ResponseBody { ResponseBody(Data()) }

  /// The trailer fields; complete after the body has been read to its end.
  public var trailers: HTTPFields { source.trailers }

  /// Discards the body and stops the transfer.
  public func cancel() { source.cancel() }

  public func makeAsyncIterator() -> Iterator {
    Iterator(source: claim.take() ? source : nil)
  }

  /// Pulls the chunks.
  public struct Iterator: AsyncIteratorProtocol {
    private let source: (any BodySource)?
    private var isAtEnd = false

    fileprivate init(source: (any BodySource)?) { self.source = source }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> Data? {
      if isAtEnd { return nil }
      guard let source else {
        throw HTTPError(.bodyAlreadyRead, "the body has already been read: keep the bytes of the first time")
      }
      do {
        let chunk = try await source.next()
        isAtEnd = chunk == nil
        return chunk
      } catch {
        isAtEnd = true
        throw HTTPError(wrapping: error)
      }
    }

    public mutating func next() async throws(HTTPError) -> Data? { try await next(isolation: nil) }
  }

  /// Returns the whole body if it has been received and nothing was read; nil if it has to be read. Cancel the body
  /// afterwards, which reports the metrics.
  @_spi(Toolkit) public func takeReceived() throws(HTTPError) -> Data? {
    guard claim.take() else { return nil }
    let data = try source.takeReceived()
    if data == nil { claim.release() }
    return data
  }

  /// Whether the body is being read.
  private final class Claim: Sendable {
    private let isTaken = Atomic(false)
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
    func release() { isTaken.store(false, ordering: .relaxed) }
  }
}

extension ResponseBody {
  /// Reads the whole body into memory. Runs off the caller's actor.
  ///
  /// - Parameter limit: the maximum number of bytes. A larger body is discarded as soon as that is known.
  /// - Throws: ``HTTPError`` of kind `.bodyTooLarge` or `.bodyAlreadyRead`, or the transport's error.
  @concurrent public func collect(upTo limit: Int) async throws(HTTPError) -> Data {
    if let length, length > limit {
      cancel()
      throw .bodyTooLarge(limit: limit)
    }
    if let data = try takeReceived() {
      cancel()
      guard data.count <= limit else { throw .bodyTooLarge(limit: limit) }
      return data
    }
    var iterator = makeAsyncIterator()
    var buffer = CollectBuffer(announced: length.map(Int.init))
    while buffer.count <= limit, let chunk = try await iterator.next() { try buffer.append(chunk) }
    guard buffer.count <= limit else { throw .bodyTooLarge(limit: limit, giving: self) }
    return try buffer.take()
  }
}

extension HTTPError {
  @_spi(Toolkit) public static func bodyTooLarge(limit: some BinaryInteger, giving body: ResponseBody? = nil)
    -> HTTPError
  {
    body?.cancel()
    return HTTPError(
      .bodyTooLarge,
      "the response's body is larger than the limit of \(limit) bytes: raise the limit, or stream the body",
      phase: .receiving)
  }
}
