import MartletSemantics

/// The error that an OData service answers with: SAP Gateway's V2 and V4 forms, the plain OASIS form, and their relatives.
///
/// ```swift
/// let payload = try JSONDecoder().decode(ODataErrorPayload.self, from: data)
/// print(payload.error.message.value, payload.error.inner?.transactionId ?? "")
/// ```
///
/// The payload type in SAP's published article decodes one of the eight kinds found in public code, because all of its
/// members are required. Here everything but the error itself is optional, and these forms are understood too: `odata.error`
/// as root, a message that is plain text, an integer code, details as an object, as text or beside the inner error, and the
/// vocabulary's annotations under any alias. In XML also OData's `details` and the `exc:exception` of the ABAP Development Tools. Where the answer need not be JSON, use ``ODataServiceError``.
public struct ODataErrorPayload: Sendable, Hashable, Decodable {
  /// The error.
  public let error: Body

  /// The error's own members.
  public struct Body: Sendable, Hashable {
    /// The service's code, `ZX/100`; a number is given as text. Empty if there is none.
    public let code: String
    /// What happened, for people.
    public let message: Message
    /// What the error is about: a property, a parameter.
    public let target: String?
    /// What the server's implementation adds.
    public let inner: Inner?
    /// The further errors, of V4's `details` or else V2's `errordetails`, without those that only repeat this one.
    public let details: [Detail]
  }

  /// A text and its language.
  public struct Message: Sendable, Hashable {
    /// The language's tag, where the service names it.
    public let language: String?
    /// The text; empty if the service gave none.
    public let value: String
  }

  /// What the server's implementation adds.
  public struct Inner: Sendable, Hashable {
    /// Which service it was.
    public let application: Application?
    /// The transaction by which an administrator finds the error.
    public let transactionId: String?
    /// When it happened, as the server writes it: `20200101000000.0000000`.
    public let timestamp: String?
    /// Where an administrator finds more.
    public let resolution: Resolution?
    /// The further errors as they came, repetitions included.
    public let details: [Detail]
  }

  /// A service as SAP Gateway names it.
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

  /// Where an administrator finds more.
  public struct Resolution: Sendable, Hashable {
    /// What to run: usually a transaction's name within a sentence.
    public let transaction: String?
    /// The number of an SAP Note, or a sentence with one.
    public let note: String?
  }

  /// One of several errors.
  public struct Detail: Sendable, Hashable {
    /// The code; empty if there is none.
    public let code: String
    /// What happened, for people.
    public let message: String
    /// The property that it is about (V2).
    public let propertyRef: String?
    /// What it is about.
    public let target: String?
    /// How bad it is, where that is said.
    public let severity: Severity?
    /// Whether it was raised by the change of state rather than by the data (V2); false where it is not said.
    public let transition: Bool
  }

  /// How bad a message is.
  public enum Severity: String, Sendable, Hashable, CaseIterable {
    /// It worked.
    case success
    /// Good to know.
    case info
    /// It worked, but look at it.
    case warning
    /// It did not work.
    case error
  }

  /// Reads any of the forms.
  ///
  /// - Throws: `DecodingError` if there is no member `error`, `odata.error` or `fault` that holds an error.
  public init(from decoder: any Decoder) throws {
    guard let error = Body(document: try JSONValue(from: decoder)) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "there is no 'error' in it that could be read"))
    }
    self.error = error
  }

  init(error: Body) { self.error = error }
}
