import Foundation
import MartletEngine

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The bytes of an input stream, read on a thread that may block. One reader, once.
final class StreamChunks: AsyncSequence, Sendable {
  private let stream: Locked<InputStream>
  private let queue = DispatchQueue(label: "SAP.Foundation.SAPURLSession.body")
  private static let chunkSize = 64 << 10

  /// - Throws: a `URLError` if the stream cannot be opened.
  init(opening stream: InputStream) throws(URLError) {
    self.stream = Locked(stream)
    if stream.streamStatus == .notOpen { stream.open() }
    if stream.streamStatus == .error { throw .unreadable(stream) }
  }

  deinit { stream.withLock { $0.close() } }

  func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

  struct Iterator: AsyncIteratorProtocol {
    let chunks: StreamChunks

    /// A read that blocks does not hold up who is cancelled.
    func next() async throws -> Data? {
      let gate = AnswerGate<Data?>()
      chunks.queue.async { [chunks] in gate.answer(Result { try chunks.read() }) }
      return try await gate.wait()
    }
  }

  private func read() throws -> Data? {
    try stream.withLock { stream in
      var chunk = Data(count: Self.chunkSize)
      let count = chunk.withUnsafeMutableBytes { buffer in
        buffer.bindMemory(to: UInt8.self).baseAddress.map { stream.read($0, maxLength: buffer.count) } ?? 0
      }
      guard count >= 0 else { throw URLError.unreadable(stream) }
      return count == 0 ? nil : chunk.prefix(count)
    }
  }
}

extension URLError {
  /// Nobody gave a stream where one was needed, for the first time or again.
  static var noBodyStream: URLError {
    URLError(
      .requestBodyStreamExhausted,
      userInfo: [NSLocalizedDescriptionKey: "the task needs a stream for its body, and nobody gave one"])
  }

  fileprivate static func unreadable(_ stream: InputStream) -> URLError {
    var info: [String: Any] = [NSLocalizedDescriptionKey: "the stream of the task's body cannot be read"]
    info[NSUnderlyingErrorKey] = stream.streamError
    return URLError(.cannotOpenFile, userInfo: info)
  }
}
