import MartletSemantics

extension ODataErrorPayload.Body {
  /// Finds the error in a document; nil if there is none.
  init?(document: JSONValue) {
    if let fault = document["fault"] {  // an API gateway in front of the service
      guard let text = fault.first("faultstring", "message")?.text else { return nil }
      let code = fault["detail"]?["errorcode"]?.text ?? fault.first("faultcode", "code")?.text
      self.init(code: code ?? "", message: .init(language: nil, value: text), target: nil, inner: nil, details: [])
      return
    }
    if let exception = document["exception"] {
      self.init(exception: exception)
      return
    }
    guard let error = document.first("error", "odata.error") else { return nil }
    self.init(error)
  }

  /// The `<exc:exception>` of ABAP's communication framework, as the ABAP Development Tools' services answer: the type is what
  /// comes nearest to a code.
  private init?(exception: JSONValue) {
    let code = exception["type"].flatMap { $0["id"]?.text ?? $0.text } ?? ""
    let messages = [exception["localizedMessage"], exception["message"]].map { ODataErrorPayload.Message($0) }
    let message = messages.first { !$0.value.isEmpty }
    guard message != nil || !code.isEmpty else { return nil }
    self.init(
      code: code, message: message ?? ODataErrorPayload.Message(nil), target: nil, inner: nil, details: [])
  }

  private init?(_ error: JSONValue) {
    if let text = error.text {
      // {"error": "invalid_client", "error_description": "…"} and services that answer with a sentence
      self.init(code: "", message: .init(language: nil, value: text), target: nil, inner: nil, details: [])
      return
    }
    guard case .object = error else { return nil }
    let inner = error["innererror"].map { ODataErrorPayload.Inner($0["ErrorDetails"] ?? $0) }
    let code = error["code"]?.text ?? ""
    let message = ODataErrorPayload.Message(error["message"])
    let own = error["details"].map(ODataErrorPayload.Detail.list) ?? []
    self.init(
      code: code, message: message, target: error["target"]?.text, inner: inner,
      details: (own.isEmpty ? inner?.details ?? [] : own).withoutRepetitions(of: code, message.value))
  }
}

extension ODataErrorPayload.Message {
  /// A text, an object of text and language, or nothing.
  init(_ value: JSONValue?) {
    self.init(language: value?.first("lang", "xml:lang")?.text, value: value?.text ?? value?["value"]?.text ?? "")
  }
}

extension ODataErrorPayload.Inner {
  init(_ inner: JSONValue) {
    let resolution = inner.first("Error_Resolution") ?? inner.term("ErrorResolution")
    self.init(
      application: (inner["application"] ?? inner.term("Application")).flatMap(ODataErrorPayload.Application.init),
      transactionId: (inner["transactionid"] ?? inner.term("TransactionId"))?.text,
      timestamp: (inner["timestamp"] ?? inner.term("Timestamp"))?.text,
      resolution: resolution.flatMap(ODataErrorPayload.Resolution.init),
      details: inner.first("errordetails", "details").map(ODataErrorPayload.Detail.list) ?? [])
  }
}

extension ODataErrorPayload.Application {
  init?(_ value: JSONValue) {
    guard case .object = value else { return nil }
    self.init(
      componentId: value.first("component_id", "ComponentId")?.text,
      serviceNamespace: value.first("service_namespace", "ServiceRepository")?.text,
      serviceId: value.first("service_id", "ServiceId")?.text,
      serviceVersion: value.first("service_version", "ServiceVersion")?.text)
  }
}

extension ODataErrorPayload.Resolution {
  init?(_ value: JSONValue) {
    guard case .object = value else { return nil }
    self.init(
      transaction: value.first("SAP_Transaction", "Analysis")?.text, note: value.first("SAP_Note", "Note")?.text)
  }
}

extension ODataErrorPayload.Detail {
  /// An array of details, an object around one or several (`errordetail`, `detail`), one detail, or texts.
  static func list(_ value: JSONValue) -> [Self] {
    let isOne = value.first("code", "message") != nil
    return (isOne ? value : value.first("errordetail", "detail") ?? value).elements.compactMap(Self.init)
  }

  private init?(_ value: JSONValue) {
    let text = value.text
    let message = ODataErrorPayload.Message(value["message"]).value
    let code = value["code"]?.text ?? ""
    guard text != nil || !message.isEmpty || !code.isEmpty else { return nil }
    self.init(
      code: code, message: text ?? message, propertyRef: value["propertyref"]?.text, target: value["target"]?.text,
      severity: ODataErrorPayload.Severity(value), transition: value["transition"]?.truth ?? false)
  }
}

extension ODataErrorPayload.Severity {
  /// By name, or by the vocabulary's number: 1 success, 2 info, 3 warning, 4 error.
  init?(_ value: JSONValue) {
    if let name = (value["severity"] ?? value.term("Severity"))?.text?.lowercased(), let named = Self(name: name) {
      self = named
      return
    }
    switch (value["numericSeverity"] ?? value.term("numericSeverity"))?.text {
    case "1": self = .success
    case "2": self = .info
    case "3": self = .warning
    case "4": self = .error
    default: return nil
    }
  }

  private init?(name: String) {
    switch name {
    case "information": self = .info
    case "abort", "fatal": self = .error
    default: self.init(rawValue: name)
    }
  }
}

extension [ODataErrorPayload.Detail] {
  /// Leaves out what only says again what was said: the outer error itself, and the frame's own exception beside others.
  fileprivate func withoutRepetitions(of code: String, _ message: String) -> Self {
    var seen: Set<[String]> = [[code, message]]
    let distinct = filter { detail in
      detail.message != message && seen.insert([detail.code, detail.message]).inserted
    }
    return distinct
  }
}
