@_spi(Toolkit) import MartletSemantics

/// The error in a response of an OData service: in SAP Gateway's V2 and V4 formats, the OASIS format, and similar ones.
///
/// ```swift
/// let payload = try JSONDecoder().decode(ODataErrorPayload.self, from: data)
/// print(payload.error.message.value, payload.error.inner?.transactionId ?? "")
/// ```
///
/// In SAP's published article, all members of the payload type are required, so it decodes only one of eight formats
/// found in public code. Here every member except the error itself is optional. These variants are supported, too:
///
/// - `odata.error` as root;
/// - a message that is a string;
/// - an integer code;
/// - details as an object, as text or beside the inner error;
/// - the vocabulary's annotations with any alias;
/// - in XML, also OData's `details` and the `exc:exception` of the ABAP Development Tools.
///
/// For responses that may not be JSON, use ``ODataServiceError``.
public struct ODataErrorPayload: Sendable, Hashable, Decodable {
  /// The error.
  public let error: Body

  /// The error's own members.
  public struct Body: Sendable, Hashable {
    /// The service's code, such as `ZX/100`; a number as text. Empty if there is none.
    public let code: String
    /// The message for the user.
    public let message: Message
    /// The target of the error, such as a property or a parameter.
    public let target: String?
    /// Details of the server's implementation.
    public let inner: Inner?
    /// The further errors, from V4's `details` or V2's `errordetails`, without repetitions. A detail with this error's
    /// message is one, unless it has another target or property.
    public let details: [Detail]
  }

  /// A text with its language.
  public struct Message: Sendable, Hashable {
    /// The language tag, if the service specifies it.
    public let language: String?
    /// The text; empty if there is none.
    public let value: String
  }

  /// Details of the server's implementation.
  public struct Inner: Sendable, Hashable {
    /// The service.
    public let application: Application?
    /// The transaction with which an administrator can find the error.
    public let transactionId: String?
    /// The time of the error, in the server's format: `20200101000000.0000000`.
    public let timestamp: String?
    /// Further information for an administrator.
    public let resolution: Resolution?
    /// The further errors, including repetitions.
    public let details: [Detail]
  }

  /// The identification of a service in SAP Gateway.
  public struct Application: Sendable, Hashable {
    /// The application component.
    public let componentId: String?
    /// The service's namespace (V2) or repository (V4).
    public let serviceNamespace: String?
    /// The service.
    public let serviceId: String?
    /// Its version.
    public let serviceVersion: String?
  }

  /// Further information for an administrator.
  public struct Resolution: Sendable, Hashable {
    /// The transaction to run, usually a sentence with its name.
    public let transaction: String?
    /// The number of an SAP Note, or a sentence with it.
    public let note: String?
  }

  /// One of several errors.
  public struct Detail: Sendable, Hashable {
    /// The code; empty if there is none.
    public let code: String
    /// The message for the user.
    public let message: String
    /// The affected property (V2).
    public let propertyRef: String?
    /// The target of the error.
    public let target: String?
    /// The severity, if it is specified.
    public let severity: Severity?
    /// Whether the change of state raised the error rather than the data (V2); false if that is not specified.
    public let transition: Bool
  }

  /// The severity of a message.
  public enum Severity: String, Sendable, Hashable, CaseIterable {
    /// The request succeeded.
    case success
    /// Information.
    case info
    /// The request succeeded with a warning.
    case warning
    /// The request failed.
    case error
  }

  /// Reads any of the formats.
  ///
  /// - Throws: `DecodingError` if there is no member `error`, `odata.error` or `fault` with an error.
  public init(from decoder: any Decoder) throws {
    guard let error = Body(document: try JSONValue(from: decoder)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "there is no member 'error' that can be read"))
    }
    self.error = error
  }

  init(error: Body) { self.error = error }
}
