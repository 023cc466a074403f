@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Adds a ``Passport`` to every request, in `SAP-PASSPORT`. With it, SAP's traces relate requests to each other.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAPPassportObserver())
/// ```
///
/// A request that is sent again keeps its passport. If a request already has the field, its value is not changed. No
/// passport is sent to another origin after a redirect. If a ``SAPPassportManaging`` throws, the task fails with its
/// error.
open class SAPPassportObserver: BuiltInObserver {
  let interceptor: any Interceptor
  private let manager: Synchronized<any SAPPassportManaging>

  /// Makes an observer.
  ///
  /// - Parameter passportManager: provides the passport; a ``MeteringPassportManager`` by default.
  public init(passportManager: any SAPPassportManaging = MeteringPassportManager()) {
    manager = Synchronized(passportManager)
    interceptor = PassportInterceptor(manager: manager)
  }

  /// Returns an observer with a new ``MeteringPassportManager``; nil if this one has another manager, whose passports
  /// may name the user. A subclass has to override it, because the copy is of this class.
  open override func copy() -> Any? {
    manager.call { $0 is MeteringPassportManager } ? SAPPassportObserver() : nil
  }
}

extension SAPPassportObserver: InterceptingObserver {}

private struct PassportInterceptor: Interceptor {
  let manager: Synchronized<any SAPPassportManaging>
  private let value = CallLocal<String?>(nil)
  private static let field: FieldName = "SAP-PASSPORT"

  init(manager: Synchronized<any SAPPassportManaging>) { self.manager = manager }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard call.askedURL.flatMap({ Origin($0) }) == request.origin, !request.fields.contains(Self.field) else {
      return .send(request)
    }
    let value = try call[value] ?? manager.call { try $0.getPassport() }.headerValue
    call[self.value] = value
    var request = request
    request.fields[Self.field] = value
    return .send(request)
  }
}

/// The identification of a request in SAP's end-to-end traces: an Extended Passport.
///
/// The format is that of OpenUI5, which is open source: 230 bytes, version 3, in hexadecimal digits. SAP does not
/// publish the content in its framework for iOS; the names here follow SAP's documentation of passports elsewhere.
public struct Passport: Sendable, Hashable {
  /// The amount of tracing.
  public enum TraceLevel: Sendable, Hashable {
    /// Statistics only.
    case low
    /// Inexpensive traces.
    case medium
    /// All traces.
    case high

    /// The flags that OpenUI5 sets.
    fileprivate var flags: [UInt8] {
      switch self {
      case .low: [0x00, 0x00]
      case .medium: [0x89, 0x0A]
      case .high: [0x9F, 0x0D]
      }
    }
  }

  /// The component that sends the request: at most 32 characters of ASCII, the last ones of a longer name.
  public var component: String
  /// The action of the component: at most 40 characters, the last ones of a longer name.
  public var action: String
  /// The user's name: at most 32 characters. Empty by default, because it is sent unencrypted within the field.
  public var user: String
  /// The amount of tracing; `.low` by default.
  public var traceLevel: TraceLevel
  /// An identifier that is the same for all requests while the app runs.
  public var rootContextID: UUID
  /// An identifier of this step.
  public var transactionID: UUID

  /// Makes a passport.
  public init(
    component: String, action: String = "", user: String = "", traceLevel: TraceLevel = .low,
    rootContextID: UUID = UUID(), transactionID: UUID = UUID()
  ) {
    self.component = component
    self.action = action
    self.user = user
    self.traceLevel = traceLevel
    self.rootContextID = rootContextID
    self.transactionID = transactionID
  }

  /// The value of `SAP-PASSPORT`: 460 hexadecimal digits in upper case.
  public var headerValue: String {
    let eyecatcher = Array("*TH*".utf8)
    var bytes: [UInt8] = eyecatcher + [3, 0, 230] + traceLevel.flags
    bytes += Self.text(component, 32) + [0, 0]  // and the service
    bytes += Self.text(user, 32) + Self.text(action, 40) + [0, 5]  // the type of the action
    bytes += Self.text(component, 32)  // the previous one
    bytes += Self.text(Self.digits(transactionID), 35) + [0, 7]  // with the client; the type of the component
    bytes += Self.octets(rootContextID) + [UInt8](repeating: 0, count: 20)  // no connection, and its counter
    bytes += [0, 0, 0, 226] + eyecatcher  // no variable part, which would begin at 226
    return bytes.map(Self.digits).joined()
  }

  /// Returns the last characters, padded with spaces. Characters other than printable ASCII become question marks.
  private static func text(_ text: String, _ count: Int) -> [UInt8] {
    let bytes = text.unicodeScalars.suffix(count).map { (0x20...0x7E).contains($0.value) ? UInt8($0.value) : 0x3F }
    return bytes + [UInt8](repeating: 0x20, count: count - bytes.count)
  }

  private static func octets(_ id: UUID) -> [UInt8] { withUnsafeBytes(of: id.uuid) { Array($0) } }

  private static func digits(_ id: UUID) -> String { octets(id).map(digits).joined() }

  private static func digits(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
  }
}

/// Provides the passports of a session.
public protocol SAPPassportManaging {
  /// Returns the passport for the next request. If it throws, the request fails. It is called on any thread, by only
  /// one thread at a time.
  func getPassport() throws -> Passport

  /// Sets the passport.
  func setPassport(_ passport: Passport)

  /// Removes the passport that was set.
  func clearPassport()
}

/// Makes passports with the app's name, the same root context while the app runs, and a new transaction for each
/// request. A passport that was set is sent unchanged. (SAP does not publish the content of its manager's passports,
/// which are for metering.)
public final class MeteringPassportManager: SAPPassportManaging, Sendable {
  private let component: String
  private let rootContextID = UUID()
  private let chosen = Locked<Passport?>(nil)

  /// Makes a manager; the component is ``SAPcpmsSettingsParameters/defaultApplicationID`` by default.
  public init(component: String = SAPcpmsSettingsParameters.defaultApplicationID) { self.component = component }

  public func getPassport() throws -> Passport {
    chosen.withLock { $0 } ?? Passport(component: component, rootContextID: rootContextID)
  }

  public func setPassport(_ passport: Passport) { chosen.withLock { $0 = passport } }

  public func clearPassport() { chosen.withLock { $0 = nil } }
}
