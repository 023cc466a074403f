import Martlet
import Synchronization

/// A stranger's source of credentials, which fetches its key when a server asks for one.
final class KeyRing: CredentialSource {
  let scope = CredentialScope.matching { $0.host == "library.example" }
  private let key = Mutex<String?>(nil)
  private let wasAsked = CallLocal(false)

  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    guard let key = key.withLock({ $0 }) else { return request }
    var request = request
    request.fields[.authorization] = "Key \(key)"
    return request
  }

  func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    guard !call[wasAsked] else { return false }
    call[wasAsked] = true
    key.withLock { $0 = "42" }
    return true
  }
}
