import Foundation
import Martlet

/// A transport that answers at once, from memory, with 1 KiB.
struct InstantTransport: Transport {
  private let answer = Data(count: 1024)
  private let head = ResponseHead(
    status: .ok,
    fields: [
      "Server": "nginx", "Date": "Sun, 22 Nov 2026 12:00:00 GMT", "Content-Type": "application/octet-stream",
      "Content-Length": "1024", "Connection": "keep-alive", "Accept-Ranges": "bytes",
    ])

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    HTTPResponse(url: request.url, networkHead: head, body: ResponseBody(answer))
  }
}

/// What the session itself costs: the same verb over a transport that answers at once, from memory.
enum PipelineCost {
  /// Does in each of its two moments the least that is worth a step: a field is added, an outcome looked at.
  private struct TaggingInterceptor: Interceptor {
    let name: FieldName

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      var request = request
      request.fields[name] = "tag"
      return .send(request)
    }

    func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
      if case .success(let response) = outcome, response.status == .serviceUnavailable { throw CancellationError() }
      return .accept
    }
  }

  private static let names: [FieldName] = ["X-Tag-A", "X-Tag-B", "X-Tag-C", "X-Tag-D"]

  /// Nanoseconds a request, the median of the rounds, with so many interceptors (four at most).
  static func nanoseconds(interceptors: Int, requests: Int, rounds: Int) async throws -> Double {
    var configuration = SessionConfiguration()
    configuration.interceptors = names.prefix(interceptors).map(TaggingInterceptor.init)
    let session = HTTPSession(transport: InstantTransport(), configuration: configuration)
    guard let url = URL(string: "http://127.0.0.1/instant") else { return 0 }
    var rates: [Double] = []
    for _ in 0..<rounds {
      let start = ContinuousClock.now
      for _ in 0..<requests { _ = try await session.data(for: HTTPRequest(.get, url)) }
      rates.append((ContinuousClock.now - start) / .nanoseconds(requests))
    }
    return rates.median ?? 0
  }
}
