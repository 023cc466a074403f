/// The `.permanent` credentials that observers and delegates gave to sessions with the shared credential storage, for
/// the next run of the program. Foundation's storage on Linux keeps nothing. (On Apple's platforms they are in the
/// keychain.)
///
/// They are in a file that only the user can read, not encrypted, like those of `curl` and `git`. For a system that
/// must not store passwords, use `.forSession`, or an observer with an encrypted store.
enum KeptCredentials {
  private struct Kept: Codable {
    let host: String
    let port: Int
    let scheme: String?
    let realm: String?
    let method: String
    let user: String
    let password: String

    var space: URLProtectionSpace {
      URLProtectionSpace(host: host, port: port, protocol: scheme, realm: realm, authenticationMethod: method)
    }
  }

  /// The values of the program; nil if there can be no file, which the log says.
  private static var values: CodableStorage? {
    let values = ProgramValues.storage
    SessionLog.writeKept()
    return values
  }

  /// Returns the credential of an earlier run; nil if there is none.
  static func credential(for space: URLProtectionSpace) -> URLCredential? {
    guard let kept = try? values?.get(Kept.self, for: key(space)) else { return nil }
    return URLCredential(user: kept.user, password: kept.password, persistence: .permanent)
  }

  static func store(_ credential: URLCredential, for space: URLProtectionSpace) {
    guard let user = credential.user, let password = credential.password else { return }
    let kept = Kept(
      host: space.host, port: space.port, scheme: space.protocol, realm: space.realm,
      method: space.authenticationMethod, user: user, password: password)
    do { try values?.put(kept, for: key(space)) } catch {
      SessionLog.write(.warning, nil, "a permanent credential could not be stored: \(error)")
    }
  }

  static func remove(for space: URLProtectionSpace) {
    SessionLog.failure(deleting: "credential") { try values?.remove(for: key(space)) }
  }

  /// Removes a credential that a server has refused.
  static func remove(_ refused: URLCredential, for space: URLProtectionSpace) {
    guard let kept = credential(for: space), kept.user == refused.user, kept.password == refused.password else {
      return
    }
    remove(for: space)
  }

  /// Removes all credentials, here and in Foundation's storage.
  static func removeAll() {
    guard let values = Self.values else { return }
    SessionLog.failure(deleting: "credentials") {
      for key in try values.keys() where key.hasPrefix(prefix) {
        if let kept = try? values.get(Kept.self, for: key) {
          URLCredentialStorage.shared.removeCredential(of: kept.user, for: kept.space)
        }
        SessionLog.failure(deleting: "credential") { try values.remove(for: key) }
      }
    }
  }

  private static let prefix = "credential "

  private static func key(_ space: URLProtectionSpace) -> String {
    let parts = [space.protocol ?? "", space.host, "\(space.port)", space.authenticationMethod, space.realm ?? ""]
    return prefix + parts.joined(separator: " ")
  }
}

extension URLCredentialStorage {
  /// Returns the credential of the first user; for the shared storage also that of an earlier run.
  func credential(for space: URLProtectionSpace) -> URLCredential? {
    let stored = credentials(like: space)?.credentials.min { $0.key < $1.key }?.value
    return stored ?? (self === URLCredentialStorage.shared ? KeptCredentials.credential(for: space) : nil)
  }

  fileprivate func removeCredential(of user: String, for space: URLProtectionSpace) {
    guard let (known, credentials) = credentials(like: space), let credential = credentials[user] else { return }
    remove(credential, for: known)
  }

  /// Returns the credentials of a space by user. It compares the properties of protection spaces, because on Linux two
  /// equal spaces do not compare as equal.
  private func credentials(
    like space: URLProtectionSpace
  ) -> (space: URLProtectionSpace, credentials: [String: URLCredential])? {
    allCredentials.first { known, _ in
      known.host == space.host && known.port == space.port && known.protocol == space.protocol
        && known.realm == space.realm && known.authenticationMethod == space.authenticationMethod
    }.map { ($0.key, $0.value) }
  }
}
