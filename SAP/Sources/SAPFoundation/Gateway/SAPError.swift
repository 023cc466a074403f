/// An error of SAP's components, which describes itself to users and to developers.
///
/// ```swift
/// enum OrderError: SAPError {
///   case soldOut
///   var description: String { "The coffee is sold out." }
///   var errorDescription: String? { description }
/// }
/// ```
///
/// The four texts for users (`errorDescription`, `failureReason`, `recoverySuggestion`, `helpAnchor`) are nil unless a
/// type has its own, as SAP publishes. SAP publishes no default of `debugDescription`; here it is the type's name and
/// `description`. SAP's module `SAPCommon` has this protocol.
public protocol SAPError: LocalizedError, CustomDebugStringConvertible, CustomStringConvertible {}

extension SAPError {
  /// The type's name and the description.
  public var debugDescription: String { "\(Self.self): \(description)" }
}
