import MartletEngine

extension SAPURLSession {
  /// The registered observers in their order: a copy, which later changes do not reach.
  public var observers: [any SAPURLSessionObserving] { state.withLock { $0.observers } }

  /// Adds an observer behind those that are registered already.
  ///
  /// It takes part in what is asked from now on, in running tasks too. Registering the same object twice changes nothing
  /// and is said in the log. (SAP's session ends the program then.)
  public func register(_ observer: any SAPURLSessionObserving) {
    let isNew = state.withLock { state in
      let isNew = !state.observers.contains { $0 === observer }
      if isNew { state.observers.append(observer) }
      return isNew
    }
    if !isNew {
      Self.log(.warning, nil, "an observer of type \(type(of: observer)) is registered already: nothing was changed")
    }
  }

  /// Removes an observer, which is not asked any more from now on; one that is not registered changes nothing. It may be called
  /// from within a callback.
  public func unregister(_ observer: any SAPURLSessionObserving) {
    state.withLock { state in state.observers.removeAll { $0 === observer } }
  }

  /// Whether this object is registered.
  public func isRegistered(_ observer: any SAPURLSessionObserving) -> Bool {
    state.withLock { state in state.observers.contains { $0 === observer } }
  }
}
