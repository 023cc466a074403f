import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import MartletURLSession
import Synchronization
import Testing

/// The transports that have to keep the contract.
enum Wire: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case curl
  case urlSession
  case mock

  /// Those that speak to a server.
  static let real: [Wire] = [.curl, .urlSession]

  var testDescription: String { rawValue }

  var isURLSession: Bool { self == .urlSession }

  /// A transport that speaks to a server.
  func makeTransport() -> any Transport {
    isURLSession ? URLSessionTransport() : CurlTransport()
  }
}

/// A request that ends by itself when a transport forgets it: late enough that on a busy machine nothing else runs into it.
func guarded(
  _ method: HTTPMethod = .get, _ url: URL, fields: HTTPFields = [:], body: RequestBody = .empty
) -> HTTPRequest {
  var request = HTTPRequest(method, url, fields: fields, body: body)
  request.options.responseTimeout = .seconds(120)
  request.options.idleTimeout = .seconds(120)
  return request
}

extension Transport {
  /// Sends the request and collects the body.
  func answer(
    to request: HTTPRequest, in exchange: Exchange = Exchange()
  ) async throws -> (HTTPResponse, Data) {
    let response = try await send(request, in: exchange)
    return (response, try await response.body.collect(upTo: 1 << 30))
  }

  /// Expects that the exchange fails, body included, and returns how.
  func failure(of request: HTTPRequest) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) { _ = try await answer(to: request) }
    return HTTPError(wrapping: try #require(error))
  }
}

/// Keeps what it is told.
final class Recorder: EventListener {
  private let events = Mutex<[Event]>([])

  func receive(_ event: Event, in exchange: Exchange) { events.withLock { $0.append(event) } }

  var exchange: Exchange { Exchange(listeners: [self]) }

  var informational: [ResponseHead] {
    events.withLock { $0 }.compactMap { if case .informational(let head) = $0 { head } else { nil } }
  }

  var metrics: [TransferMetrics] {
    events.withLock { $0 }.compactMap { if case .metrics(let metrics) = $0 { metrics } else { nil } }
  }

  func progress(_ direction: TransferProgress.Direction) -> [TransferProgress] {
    events.withLock { $0 }.compactMap {
      if case .progress(let progress) = $0, progress.direction == direction { progress } else { nil }
    }
  }
}

/// Counts from any thread.
final class Counter: Sendable {
  private let count = Atomic<Int64>(0)

  var value: Int64 { count.load(ordering: .sequentiallyConsistent) }

  func raise(to value: Int64) { count.max(value, ordering: .sequentiallyConsistent) }
}

/// Bytes that are different everywhere, so that a lost, doubled or exchanged piece shows.
func pattern(_ count: Int, from start: Int = 0) -> Data { allBytes.subdata(in: start..<(start + count)) }

private let allBytes: Data = {
  var bytes = Data(count: 4 << 20)
  bytes.withUnsafeMutableBytes { room in
    let words = room.bindMemory(to: UInt32.self)
    var word: UInt32 = 1
    for index in words.indices {
      word = word &* 1_664_525 &+ 1_013_904_223
      words[index] = word
    }
  }
  return bytes
}()

/// An error of the test's own.
struct Mishap: Error, Equatable {}
