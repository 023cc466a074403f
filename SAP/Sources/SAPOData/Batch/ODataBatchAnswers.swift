@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// The answers to the requests of a batch by their numbers; an error for a part that cannot be read.
typealias ODataBatchAnswers = [Int: Result<ODataAnswer, ODataError>]

extension ODataBatch {
  /// Assigns the parts of a multipart response in their order. A change set that failed has one response instead of one
  /// for each request. An answer that is cut off has the parts that arrived.
  func answers(in response: ODataAnswer) throws(ODataError) -> ODataBatchAnswers {
    guard let boundary = Self.boundary(response.head.fields) else {
      throw ODataError(.invalidResponse, "the answer to the batch is not multipart: check that the service has batches")
    }
    guard let parts = MultipartReader.parts(of: Array(response.body)[...], boundary: boundary) else {
      throw ODataError(.invalidResponse, "the answer to the batch has no part: it is cut off, or has another boundary")
    }
    var answers: ODataBatchAnswers = [:]
    var rest = entries[...]
    for part in parts {
      guard let first = rest.first else { break }
      let set = first.group == nil ? rest.prefix(1) : rest.prefix { $0.group == first.group }
      rest = rest.dropFirst(set.count)
      let inner = Self.boundary(part.fields).map { MultipartReader.parts(of: part.content, boundary: $0) ?? [] }
      assign(inner ?? [part], to: set, &answers)
    }
    return answers
  }

  /// Assigns the parts of a read or a change set. Each is used once: by its `Content-ID`, otherwise in its order. An
  /// identifier that several parts have, or none of the requests, says nothing. It is in the head of the part, or in
  /// that of the response within.
  private func assign(_ parts: [MultipartReader.Part], to set: ArraySlice<Entry>, _ answers: inout ODataBatchAnswers) {
    let received = parts.map { (part: $0, answer: Self.answer($0)) }
    let ids = received.map { part, answer in
      (part.fields["Content-ID"] ?? (try? answer.get())?.head.fields["Content-ID"]).flatMap {
        Int($0.trimmingCharacters(in: CharacterSet(charactersIn: "<>")))  // MIME's own form (RFC 2045 §7)
      }
    }
    let counts = Dictionary(ids.compactMap { id in id.map { ($0, 1) } }, uniquingKeysWith: +)
    let known = Set(set.map(\.id))
    var unnamed: [Result<ODataAnswer, ODataError>] = []
    for (id, answer) in zip(ids, received.map(\.answer)) {
      if let id, known.contains(id), counts[id] == 1 { answers[id] = answer } else { unnamed.append(answer) }
    }
    for (entry, answer) in zip(set.filter { answers[$0.id] == nil }, unnamed) { answers[entry.id] = answer }
    spread(&answers, over: set)
  }

  private static func boundary(_ fields: HTTPFields) -> String? {
    guard let type = fields[.contentType].flatMap({ MediaType($0) }), type.type == "multipart" else { return nil }
    return type.parameters["boundary"]
  }

  private static func answer(_ part: MultipartReader.Part) -> Result<ODataAnswer, ODataError> {
    guard let response = MultipartReader.response(in: part.content) else {
      return .failure(ODataError(.invalidResponse, "a part of the answer to the batch has no status line"))
    }
    return .success(ODataAnswer(head: response.head, body: Data(response.body)))
  }

  /// Assigns the responses of a JSON batch. One for a whole group has the group's name as its identifier.
  func answers(in json: ODataJSON) throws(ODataError) -> ODataBatchAnswers {
    guard let responses = json["responses"]?.elements else {
      throw ODataError(.invalidResponse, "the answer to the batch has no 'responses'")
    }
    guard responses.count <= entries.count else {
      throw ODataError(
        .invalidResponse, "the answer to the batch has \(responses.count) responses to \(entries.count) requests")
    }
    let groups = Dictionary(grouping: entries.filter { $0.group != nil }, by: \.group).values
    var named = Dictionary(uniqueKeysWithValues: entries.map { ("\($0.id)", [$0]) })
    for set in groups { if let group = set[0].group { named["g\(group)"] = set } }
    var answers: ODataBatchAnswers = [:]
    for response in responses {
      guard let status = response["status"]?.text.flatMap({ Int($0) }), let id = response["id"]?.text else { continue }
      var head = ResponseHead(status: HTTPStatus(status))
      if case .object(let fields)? = response["headers"] {
        for (name, value) in fields {
          if let name = try? FieldName(name) { head.fields.appendReceived(name, value.text ?? "") }
        }
      }
      let body = response["body"].map { Data(($0.text ?? $0.json()).utf8) } ?? Data()
      let answer = ODataAnswer(head: head, body: body)
      for entry in named.removeValue(forKey: id) ?? [] { answers[entry.id] = .success(answer) }
    }
    for set in groups { spread(&answers, over: set) }
    return answers
  }

  /// Gives the error of a change set to all its requests, even to requests without an answer of their own: they were
  /// undone.
  private func spread(_ answers: inout ODataBatchAnswers, over set: some Collection<Entry>) {
    let failed = set.compactMap { try? answers[$0.id]?.get() }.first { $0.head.status.code >= 400 }
    guard let failed else { return }
    for entry in set where answers[entry.id] == nil { answers[entry.id] = .success(failed) }
  }
}
