import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// Adds an identifier for logs of servers to each task: by default in `X-CorrelationID`. (SAP does not publish the name
/// of the field.)
///
/// The identifier stays the same when the task is sent again, and is the task's ``SAPURLSessionTask/correlationID``. If
/// a request already has the field, its value is not changed. Requests of observers, such as those for CSRF tokens,
/// have their own identifiers.
open class CorrelationObserver: BuiltInObserver {
  private let field: FieldName

  /// Makes an observer that uses `X-CorrelationID`.
  public override init() { field = "X-CorrelationID" }

  /// Makes an observer that uses another field.
  public init(field: FieldName) { self.field = field }

  /// Returns the identifier of a task: a random UUID in lower case, unless overridden. It is called on any thread.
  open func newCorrelationID() -> String { UUID.random().lowercaseText }

  /// Returns an observer that uses the same field. A subclass has to override it, because the copy is of this class.
  open override func copy() -> Any? { CorrelationObserver(field: field) }
}

extension CorrelationObserver: InterceptingObserver {
  var interceptor: any Interceptor {
    let maker = Locked(self)
    return CorrelationInterceptor(field: field) {
      let id = maker.withLock { $0 }.newCorrelationID()
      SessionLog.write(.debug, "CorrelationObserver", "a new task has the identifier \(id)")
      return id
    }
  }
}
