package import MartletEngine
public import MartletSemantics

/// Gives every task an identifier that servers log too: by default in `X-CorrelationID`, whose name SAP does not publish.
///
/// The identifier stays the same when the task is sent again, and is that of ``SAPURLSessionTask/correlationID``; a request
/// that carries the field already keeps its own. Requests of observers, for a CSRF token say, have their own.
open class CorrelationObserver: SAPURLSessionObserving {
  private let field: FieldName

  /// Makes an observer that uses `X-CorrelationID`.
  public init() { field = "X-CorrelationID" }

  /// Makes an observer that uses another field.
  public init(field: FieldName) { self.field = field }

  /// Makes the identifier of a task: a random UUID in lower case, unless overridden. Called on any thread.
  open func newCorrelationID() -> String { UUID().uuidString.lowercased() }

  /// An observer that uses the same field. Override it in a subclass, or the copy makes identifiers as this class does.
  open func copy() -> Any? { CorrelationObserver(field: field) }
}

extension CorrelationObserver: InterceptingObserver {
  package var interceptor: any Interceptor {
    let maker = Locked(self)
    return CorrelationInterceptor(field: field) {
      let id = maker.withLock { $0 }.newCorrelationID()
      SAPURLSession.log(.debug, "CorrelationObserver", "a new task is called \(id)")
      return id
    }
  }
}
