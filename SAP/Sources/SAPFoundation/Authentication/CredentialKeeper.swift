@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// An observer that keeps credentials, which ``SAPURLSession/clearCredentials()`` removes.
protocol CredentialHolder: AnyObject {
  /// The object that keeps the credentials.
  var keeper: any CredentialKeeper { get }

  /// Whether it answered a challenge with this credential since the last sign-out. Requests carry such a credential
  /// without another challenge, whatever its persistence.
  func gave(_ credential: URLCredential) -> Bool
}

extension CredentialHolder {
  func gave(_ credential: URLCredential) -> Bool { false }
}

/// The part of an observer that a sign-out needs: its data about the user, and its store.
///
/// If the observer leaves, a session holds this part until the next sign-out. Therefore it holds neither the observer
/// nor the app's object that asks the user, which may hold the session; it holds the latter only while it is asking.
protocol CredentialKeeper: AnyObject, Sendable {
  /// Removes all credentials, in memory and in the store, and discards credentials that are being obtained.
  func removeCredentials()
}

/// The credentials of one observer by origin, and the app's store for them. Each is looked up or requested once for all
/// requests that need it.
final class CredentialsByOrigin<Value: Sendable, Store>: CredentialKeeper {
  struct Entry: Sendable {
    /// The URL under which the observer's store keeps the credential.
    let url: URL
    let renewal: Renewal<Value>
  }

  let store: UserData<Store>
  private let name: String
  private let delete: @Sendable (Store, URL) throws -> Void
  private let clear: @Sendable (Store) -> Void
  private let entries = Locked<[Origin: Entry]>([:])

  /// - Parameters:
  ///   - name: the name of a credential in the log.
  ///   - store: the app's store.
  ///   - delete: deletes the credential of a URL from the store.
  ///   - clear: deletes all others.
  init(
    _ name: String, in store: UserData<Store>, delete: @escaping @Sendable (Store, URL) throws -> Void,
    clear: @escaping @Sendable (Store) -> Void
  ) {
    (self.name, self.store, self.delete, self.clear) = (name, store, delete, clear)
  }

  /// The entry of an origin; nil if no request has needed a credential for it yet.
  subscript(origin: Origin) -> Entry? { entries.withLock { $0[origin] } }

  /// Returns the entry of an origin, and sets its URL to this one.
  func entry(for origin: Origin, _ url: URL) -> Entry {
    entries.withLock { entries in
      let renewal = entries[origin]?.renewal ?? Renewal(nil, of: "the \(name)", signOut: store.signOutMark)
      let entry = Entry(url: url, renewal: renewal)
      entries[origin] = entry
      return entry
    }
  }

  func removeCredentials() {
    let former = store.signOut { store in
      let entries = self.entries.withLock { Array($0.values) }
      for entry in entries { SessionLog.failure(deleting: name) { try delete(store, entry.url) } }
      clear(store)
      return entries
    }
    for entry in former { entry.renewal.forget() }
  }
}

extension SAPURLSessionTask {
  /// Returns the task's own URL and its origin if a challenge comes from that origin; nil if the server was reached
  /// only by a redirect.
  func askedServer(of challenge: URLAuthenticationChallenge) -> (url: URL, origin: Origin)? {
    let space = challenge.protectionSpace
    guard let url = originalRequest?.url, let origin = Origin(url), origin.scheme == space.protocol,
      origin.host == HostName.canonical(space.host), origin.port == space.port
    else { return nil }
    return (url, origin)
  }

  /// Calls the completion handler of a challenge with the credential that a closure returns, or with the error that it
  /// throws.
  func complete(
    _ completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void,
    with makeCredential: @escaping @Sendable (_ call: Call) async throws -> URLCredential?
  ) {
    let call = mutable.withLock { $0.call } ?? Call(session: session.engine)
    Task {
      do {
        completionHandler(try await makeCredential(call).map { .use($0) } ?? .performDefaultHandling)
      } catch { completionHandler(.cancel((error as? HTTPError).map { URLError($0) } ?? error)) }
    }
  }
}

/// Calls a function that takes a completion handler, and returns the handler's first result.
///
/// - Parameter login: the beginning of the work for which an authenticator of the app is called; nil, the default, for
///   all other functions.
func firstResult<Value: Sendable>(
  of login: Beginning? = nil,
  _ function: (_ completionHandler: @escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
) async throws -> Value? {
  let result = OneShot<Value?>()
  Beginning.$ofLogin.withValue(login ?? Beginning.ofLogin) {
    function { value, error in result.answer(error.map { .failure($0) } ?? .success(value)) }
  }
  return try await result.wait()
}

extension URL {
  /// Returns the key for the URL's origin in a store: the prefix and the origin.
  func storageKey(_ prefix: String) -> String { prefix + (Origin(self)?.description ?? absoluteString) }
}
