import Foundation
import Martlet
@_spi(Transports) import MartletEngine

/// A transport that answers at once, from memory, with 1 KiB.
struct InstantTransport: Transport, DeadlineAware {
  var endsAtDeadline: Bool { true }
  private let answer = Data(count: 1024)
  private let head: ResponseHead

  /// - Parameter lifetime: the number of seconds for which a cache may use the response; nil if it may not.
  init(lifetime: Int? = nil) {
    var fields: HTTPFields = [
      "Server": "nginx", "Content-Type": "application/octet-stream", "Content-Length": "1024",
      "Connection": "keep-alive", "Accept-Ranges": "bytes",
    ]
    fields[.cacheControl] = lifetime.map { "max-age=\($0)" } ?? "no-store"
    head = ResponseHead(status: .ok, fields: fields)
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    HTTPResponse(url: request.url, networkHead: head, body: ResponseBody(answer))
  }
}

/// Does a minimum in each of its two steps: adds a field, and looks at an outcome.
struct TaggingInterceptor: Interceptor {
  let name: FieldName

  static let four = (["X-Tag-A", "X-Tag-B", "X-Tag-C", "X-Tag-D"] as [FieldName]).map(TaggingInterceptor.init)

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
