import Martlet
@_spi(Credentials) import MartletEngine

/// A stranger's source of credentials, whose key is fetched once for all calls, and again when the server refuses it.
final class RenewedKeyRing: CredentialSource {
  let scope = CredentialScope.matching { $0.host == "library.example" }
  private let keys = Renewal<String>("41", of: "the key")
  private let sent = CallLocal<Int?>(nil)
  private let hasRenewed = CallLocal(false)

  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    guard let key = try await keys.value(where: { _ in true }, by: call, renew: Self.fetch).version else {
      return request
    }
    call[sent] = key.number
    var request = request
    request.fields[.authorization] = "Key \(key.value)"
    return request
  }

  func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    guard !call[hasRenewed] else { return false }
    call[hasRenewed] = true
    let refused = call[sent]
    return try await keys.value(insteadOf: { $0.number == refused }, by: call, renew: Self.fetch).version != nil
  }

  @Sendable private static func fetch(after old: String?) async throws -> String? {
    old.flatMap { Int($0) }.map { String($0 + 1) }
  }
}
