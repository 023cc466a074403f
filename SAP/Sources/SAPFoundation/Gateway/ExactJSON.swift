@_spi(Toolkit) import MartletSemantics

/// A JSON value (RFC 8259) whose numbers keep their digits. To compare values by content, use ``JSONValue``.
@_spi(Toolkit) public enum ExactJSON: Sendable, Hashable {
  case null
  case bool(Bool)
  /// The number as it was written.
  case number(String)
  case string(String)
  case array([ExactJSON])
  case object([String: ExactJSON])

  /// The reason why a text cannot be read.
  public struct Fault: Error, Sendable, CustomStringConvertible {
    public let description: String
  }

  /// The maximum depth of nested arrays and objects.
  static let depthLimit = 100

  /// Reads a document (RFC 8259).
  ///
  /// - Throws: a fault with its line and column.
  public init(_ data: Data) throws(Fault) {
    let bytes = Array(data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data)
    if let fault = JSONSyntax.fault(in: bytes) {
      throw Fault(description: "not valid JSON: \(fault)")
    }
    var reader = Reader(bytes: bytes, tokens: JSONTokens(bytes))
    self = try reader.value()
  }
}

extension ExactJSON {
  /// Reads a text that is known to be valid JSON.
  private struct Reader {
    let bytes: [UInt8]
    var tokens: JSONTokens
    var depth = 0

    mutating func value() throws(Fault) -> ExactJSON {
      guard let token = tokens.nextVisible() else { return .null }
      return try value(token)
    }

    private mutating func value(_ token: JSONTokens.Token) throws(Fault) -> ExactJSON {
      switch (token.kind, bytes[token.range.lowerBound]) {
      case (.string, _): return .string(try string(token.range))
      case (.opening, let first):
        depth += 1
        defer { depth -= 1 }
        guard depth <= ExactJSON.depthLimit else {
          throw Fault(description: "nested deeper than \(ExactJSON.depthLimit) levels")
        }
        return first == UInt8(ascii: "{") ? try object() : try array()
      case (_, UInt8(ascii: "t")): return .bool(true)
      case (_, UInt8(ascii: "f")): return .bool(false)
      case (_, UInt8(ascii: "n")): return .null
      default: return .number(String(decoding: bytes[token.range], as: UTF8.self))
      }
    }

    private mutating func array() throws(Fault) -> ExactJSON {
      var elements: [ExactJSON] = []
      while let token = tokens.nextVisible(), token.kind != .closing {
        if token.kind != .comma { elements.append(try value(token)) }
      }
      return .array(elements)
    }

    private mutating func object() throws(Fault) -> ExactJSON {
      var members: [String: ExactJSON] = [:]
      while let token = tokens.nextVisible(), token.kind != .closing {
        guard token.kind == .string else { continue }
        let name = try string(token.range)
        _ = tokens.nextVisible()
        members[name] = try value()
      }
      return .object(members)
    }

    /// Reads a string (RFC 8259 §7). A lone surrogate becomes U+FFFD.
    private func string(_ range: Range<Int>) throws(Fault) -> String {
      let content = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
      guard let text = String(validating: content, as: UTF8.self) else {
        throw Fault(description: "a string is not UTF-8")
      }
      guard content.contains(UInt8(ascii: "\\")) else { return text }
      var units: [UInt16] = []
      var rest = text.utf16[...]
      while let unit = rest.popFirst() {
        guard unit == 0x5C, let escaped = rest.popFirst() else {
          units.append(unit)
          continue
        }
        switch Unicode.Scalar(escaped) {
        case "b": units.append(8)
        case "f": units.append(12)
        case "n": units.append(10)
        case "r": units.append(13)
        case "t": units.append(9)
        case "u":
          units.append(UInt16(String(decoding: rest.prefix(4), as: UTF16.self), radix: 16) ?? 0xFFFD)
          rest = rest.dropFirst(4)
        default: units.append(escaped)
        }
      }
      return String(decoding: units, as: UTF16.self)
    }
  }

  /// The value as JSON. Members are sorted, so that annotations (`@…`) come first and the text is the same each time.
  ///
  /// - Parameter indentation: nil writes one line; a number writes a line for each member, with this many levels.
  @_spi(Toolkit) public func json(indentation: Int? = nil) -> String {
    let inner = indentation.map { $0 + 1 }
    func list(_ open: String, _ items: [String], _ close: String) -> String {
      guard let indentation, !items.isEmpty else { return open + items.joined(separator: ",") + close }
      let pad = String(repeating: "  ", count: indentation)
      return open + "\n" + items.map { pad + "  " + $0 }.joined(separator: ",\n") + "\n" + pad + close
    }
    switch self {
    case .null: return "null"
    case .bool(let value): return "\(value)"
    case .number(let digits): return digits
    case .string(let text): return JSONSyntax.quoted(text)
    case .array(let elements): return list("[", elements.map { $0.json(indentation: inner) }, "]")
    case .object(let members):
      let items = members.sorted { $0.key < $1.key }.map { name, value in
        JSONSyntax.quoted(name) + (indentation == nil ? ":" : ": ") + value.json(indentation: inner)
      }
      return list("{", items, "}")
    }
  }
}
