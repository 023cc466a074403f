// Passwords and tokens, each for its own origins.
import Martlet

func makeSession(api: URL, reports: URL) throws -> HTTPSession {
  var configuration = SessionConfiguration()
  configuration.credentials = [
    // renewed once, however many requests meet an expired token
    TokenSource(for: .origin(of: api)) { old in
      var request = HTTPRequest(
        .post, api.appending(path: "token"), fields: [.contentType: "application/x-www-form-urlencoded"])
      let pairs = [("grant_type", "refresh_token"), ("refresh_token", old?.refreshToken ?? "")]
      request.body = .data(Data(PercentEncoding.form.encode(pairs).utf8))
      let (data, _) = try await HTTPSession.shared.data(for: request)
      return AccessToken(String(decoding: data, as: UTF8.self))
    },
    // Basic or Digest, whichever is the stronger that the server offers
    PasswordSource(Credential(user: "anna", password: "secret"), for: .origin(of: reports)),
    PasswordSource(try .file(), for: .matching(\.isSecure)),
  ]
  return HTTPSession(configuration: configuration)
}
