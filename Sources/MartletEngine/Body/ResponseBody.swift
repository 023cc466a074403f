public import MartletSemantics
import Synchronization

/// The body of a response: chunks that are pulled, by one reader, once.
///
/// ```swift
/// for try await chunk in response.body { print(chunk.count) }   // as it arrives
/// let data = try await response.body.collect(upTo: 1 << 20)   // at once, with a limit
/// ```
///
/// Nothing is read ahead beyond a small buffer, so a slow reader slows the sender down. A body that is read a second
/// time is an error of kind ``HTTPError/Kind/bodyAlreadyRead``. A body that nobody keeps gives its connection up.
public struct ResponseBody: AsyncSequence, Sendable {
  public typealias Element = Data
  public typealias Failure = HTTPError

  /// The number of bytes, where it is known before they have come.
  public let length: Int64?
  package let source: any BodySource
  private let claim = Claim()

  /// Makes a body that is pulled from a source.
  public init(length: Int64? = nil, from source: any BodySource) {
    self.length = length
    self.source = source
  }

  /// Makes a body of bytes that are there.
  public init(_ data: Data) {
    self.init(length: Int64(data.count), from: DataSource(data))
  }

  /// A body of no bytes.
  public static var empty: ResponseBody { ResponseBody(Data()) }

  /// The trailer fields, complete once the body has been read to its end.
  public var trailers: HTTPFields { source.trailers }

  /// Gives the body up: the transfer is stopped.
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
        throw HTTPError(.bodyAlreadyRead, "the body was already read; keep the bytes of the first reading")
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

  /// Whether somebody reads already.
  private final class Claim: Sendable {
    private let isTaken = Atomic(false)
    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
  }
}

/// A body whose bytes are all there.
package final class DataSource: BodySource {
  private let rest: Mutex<Data?>

  package init(_ data: Data) { rest = Mutex(data.isEmpty ? nil : data) }

  package func next() async throws -> Data? {
    rest.withLock { rest in
      defer { rest = nil }
      return rest
    }
  }
}
