import Foundation
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
import MartletTesting
import Synchronization
import Testing

/// A small authorization server. Its token endpoint returns the answers of a list.
final class TokenServer: Sendable {
  typealias Form = [String: String]

  let server: LoopbackServer
  private let forms = SharedForms()

  /// - Parameter answer: returns the answer to the form of a token request, given the number of earlier ones.
  init(_ answer: @escaping @Sendable (Form, Int) -> Reply) throws {
    server = try LoopbackServer { [forms] request in
      let pairs = PercentEncoding.form.pairs(in: request.text)
      var form = Form(pairs.map { ($0.name, $0.value) }) { first, _ in first }
      form["path"] = request.path
      form["authorization"] = request.fields[.authorization]
      let count = forms.append(form)
      return answer(form, count)
    }
  }

  /// The forms so far, with the path and the `Authorization` of their requests.
  var received: [Form] { forms.all }

  func client(
    _ authentication: OAuthClient.Authentication = .none, clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Date = { .now }
  ) -> OAuthClient {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    return OAuthClient(
      id: "app", tokenEndpoint: server.url("/token"), authentication: authentication,
      session: HTTPSession(transport: SocketTransport(), configuration: configuration), now: now)
  }

  static func token(_ value: String, refresh: String? = nil, seconds: Int? = 3600) -> Reply {
    var members = ["\"access_token\": \"\(value)\"", "\"token_type\": \"bearer\""]
    if let refresh { members.append("\"refresh_token\": \"\(refresh)\"") }
    if let seconds { members.append("\"expires_in\": \(seconds)") }
    return .json("{\(members.joined(separator: ", "))}")
  }

  static func refusal(_ code: String, _ description: String? = nil) -> Reply {
    let detail = description.map { ", \"error_description\": \"\($0)\"" } ?? ""
    return .json("{\"error\": \"\(code)\"\(detail)}", status: .badRequest)
  }
}

private final class SharedForms: Sendable {
  private let forms = Mutex<[TokenServer.Form]>([])
  var all: [TokenServer.Form] { forms.withLock { $0 } }

  /// Returns the number of forms before.
  func append(_ form: TokenServer.Form) -> Int {
    forms.withLock { forms in
      forms.append(form)
      return forms.count - 1
    }
  }
}
