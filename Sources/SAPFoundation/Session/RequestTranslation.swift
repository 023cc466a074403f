import Foundation
import MartletEngine
import MartletSemantics
import MartletURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// Between Foundation's requests and the engine's. Foundation's fields are a dictionary, ours are ordered lines: what an
// observer did not change stays as it is, to the letter.
extension HTTPRequest {
  /// - Parameter body: the task's own; nil for that of the request.
  init(_ original: URLRequest, body: RequestBody?, of configuration: URLSessionConfiguration) throws {
    guard let url = original.url else { throw SAPURLSessionError.invalidRequest }
    self.init(try Self.method(of: original), url, fields: original.fields)
    self.body = body ?? original.httpBody.map { .data($0) } ?? .empty
    takeOptions(of: original, configuration)
  }

  /// The request as Foundation writes it; what ours does not know is taken from the template.
  func urlRequest(like template: URLRequest) -> URLRequest {
    var request = template
    request.url = url
    request.httpMethod = method.rawValue
    request.setFields(fields)
    if body.isEmpty { request.httpBody = nil } else if let bytes = body.bytes { request.httpBody = bytes }
    return request
  }

  /// Takes over what somebody changed in the request that was shown.
  mutating func apply(_ changed: URLRequest, insteadOf shown: URLRequest, _ configuration: URLSessionConfiguration)
    throws
  {
    guard let url = changed.url else { throw SAPURLSessionError.invalidRequest }
    if url != shown.url { self.url = url }
    method = try Self.method(of: changed)
    let new = changed.fields
    if let refusal = new.refusal { throw refusal }
    fields.takeChanges(from: shown.fields, to: new)
    if changed.httpBody != shown.httpBody {
      body = changed.httpBody.map { .data($0) } ?? .empty
    } else if let stream = changed.httpBodyStream, stream !== shown.httpBodyStream {
      body = .singleUse(try StreamChunks(opening: stream))
    }
    if changed.timeoutInterval != shown.timeoutInterval || changed.cachePolicy != shown.cachePolicy
      || changed.httpShouldHandleCookies != shown.httpShouldHandleCookies
    {
      takeOptions(of: changed, configuration)
    }
  }

  /// `timeoutIntervalForRequest` is Foundation's time without news: of the answer, and then of more of it. A request that
  /// says 60 seconds says nothing, because those are its default.
  private mutating func takeOptions(of request: URLRequest, _ configuration: URLSessionConfiguration) {
    let seconds = request.timeoutInterval == 60 ? configuration.timeoutIntervalForRequest : request.timeoutInterval
    options.responseTimeout = Self.limit(seconds)
    options.idleTimeout = Self.limit(seconds)
    options.deadline = Self.limit(configuration.timeoutIntervalForResource)
    options.handlesCookies = request.httpShouldHandleCookies
    let policy = request.cachePolicy == .useProtocolCachePolicy ? configuration.requestCachePolicy : request.cachePolicy
    options.cachePolicy =
      switch policy {
      case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringCacheData
      case .returnCacheDataElseLoad: .returnCacheDataElseLoad
      case .returnCacheDataDontLoad: .returnCacheDataDontLoad
      case .reloadRevalidatingCacheData: .reloadRevalidatingCacheData
      default: .useProtocolCachePolicy
      }
  }

  private static func method(of request: URLRequest) throws(SAPURLSessionError) -> HTTPMethod {
    guard let method = HTTPMethod(rawValue: request.httpMethod ?? "GET") else { throw .unexpectedHTTPMethod }
    return method
  }

  /// A week, Foundation's default, and more are no limit.
  private static func limit(_ seconds: TimeInterval) -> Duration? {
    seconds > 0 && seconds < 7 * 24 * 3600 ? .seconds(seconds) : nil
  }
}

extension HTTPFields {
  /// Changes what is different in the two dictionaries, and leaves all other lines alone.
  mutating func takeChanges(from old: HTTPFields, to new: HTTPFields) {
    for (name, _) in old where !new.contains(name) { remove(name) }
    for (name, _) in new where old[values: name] != new[values: name] {
      remove(name)
      for value in new[values: name] { append(value, for: name) }
    }
  }
}
