import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// Writes a batch.
struct ODataBatchWriter {
  let entries: [ODataBatch.Entry]
  let root: ODataRoot
  let format: ODataFormat

  /// OData 4.01 Protocol §11.7.7; V2: Batch Processing §2.
  func multipart(_ boundary: String) throws -> Data {
    var text = ""
    for (index, entry) in entries.enumerated() {
      let changes = entry.group.map { boundary.replacing("batch", with: "changeset") + "_\($0)" }
      if let changes, index == 0 || entries[index - 1].group != entry.group {
        text += "--\(boundary)\r\nContent-Type: multipart/mixed;boundary=\(changes)\r\n\r\n"
      }
      text += "--\(changes ?? boundary)\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
      if changes != nil { text += "Content-ID: \(entry.id)\r\n" }
      text += try "\r\n" + http(entry.operation)
      if let changes, index == entries.count - 1 || entries[index + 1].group != entry.group {
        text += "--\(changes)--\r\n"
      }
    }
    return Data((text + "--\(boundary)--\r\n").utf8)
  }

  private func http(_ operation: ODataOperation) throws -> String {
    let version = format.version
    let url = try root.relative(operation.path, operation.options(version), version)
    let body = try operation.body.map { try $0(format).json() }
    var text = "\(operation.method(version).rawValue) \(url) HTTP/1.1\r\n"
    for field in operation.fields(format) { text += try "\(field.name): \(checked(field.value))\r\n" }
    if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
    return text + "\r\n" + (body ?? "") + "\r\n"
  }

  /// A line break in a tag would begin a field, or another request.
  private func checked(_ value: String) throws(ODataError) -> String {
    guard !value.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7F }) else {
      throw ODataError(.invalidRequest, "a field of a batch's request has a control character: check ifMatch")
    }
    return value
  }

  /// OData 4.01 JSON Format §19.
  func json() throws -> Data {
    let requests = try entries.map { entry -> ODataJSON in
      let (operation, version) = (entry.operation, format.version)
      var request: [String: ODataJSON] = [
        "id": .string("\(entry.id)"), "method": .string(operation.method(version).rawValue),
        "url": .string(try root.relative(operation.path, operation.options(version), version)),
        "headers": .object(
          Dictionary(try operation.fields(format).map { ($0.name, .string(try checked($0.value))) }) { $1 }),
      ]
      if let body = operation.body { request["body"] = try body(format) }
      if let group = entry.group { request["atomicityGroup"] = .string("g\(group)") }
      let url = request["url"]?.text ?? ""
      if url.hasPrefix("$"), let id = Int(url.dropFirst().prefix { $0.isNumber }) {
        request["dependsOn"] = .array([.string("\(id)")])
      }
      return .object(request)
    }
    return Data(ODataJSON.object(["requests": .array(requests)]).json().utf8)
  }
}
