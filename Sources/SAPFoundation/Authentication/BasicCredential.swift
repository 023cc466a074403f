public import Foundation
import MartletSemantics

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// A user's name and password. A description of it shows neither.
public struct BasicCredential: Codable, Sendable, Hashable {
  /// The user's name.
  public let username: String
  /// The password.
  public let password: String

  /// Makes a credential.
  public init(username: String, password: String) {
    self.username = username
    self.password = password
  }
}

extension BasicCredential: CustomStringConvertible, CustomReflectable {
  /// That it is one.
  public var description: String { "a credential" }

  /// Shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Keeps credentials. The URL is that of the request; distinguish by its host and port, at least. Calls come one
/// after another.
public protocol BasicCredentialStoring: AnyObject {
  /// Keeps a credential in place of the one that was there.
  func store(credential: BasicCredential, for url: URL) throws

  /// The credential for a URL; nil if there is none.
  func credential(for url: URL) throws -> BasicCredential?

  /// Forgets a credential.
  func delete(for url: URL) throws
}

/// Gets a credential from the user.
public protocol BasicCredentialDiscovery: AnyObject {
  /// Asks the user for the credential for a URL.
  ///
  /// - Parameters:
  ///   - url: what was asked for.
  ///   - challenge: how the server asks: host, realm, and how often a credential was refused.
  ///   - completionHandler: to be called once, on any thread: with a credential, with an error, or with neither to give up.
  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void)
}

/// Keeps credentials in a ``CodableStoring``, by scheme, host and port. They are secrets: prefer a store that is encrypted.
open class BasicCredentialStorage: BasicCredentialStoring {
  private let storage: any CodableStoring

  /// Makes a storage; in memory by default.
  public init(store: any CodableStoring = CodableStorage()) { storage = store }

  open func store(credential: BasicCredential, for url: URL) throws { try storage.put(credential, for: Self.key(url)) }

  open func credential(for url: URL) throws -> BasicCredential? {
    try storage.get(BasicCredential.self, for: Self.key(url))
  }

  open func delete(for url: URL) throws { try storage.remove(for: Self.key(url)) }

  private static func key(_ url: URL) -> String {
    "basic-credential " + (Origin(url)?.description ?? url.absoluteString)
  }
}
