/// Header or trailer fields: an ordered multimap (RFC 9110 §5).
///
/// The order of fields and every repeated line are kept, because cookies, caches and signatures depend on them.
///
/// ```swift
/// var fields: HTTPFields = [.accept: "application/json"]
/// fields.append("a=1", for: .setCookie)
/// fields.append("b=2", for: .setCookie)
/// fields[values: .setCookie]   // ["a=1", "b=2"]
/// fields[.accept]              // "application/json"
/// ```
///
/// A value with CR, LF, NUL or another control character is refused: it is not stored, and the first such error is kept
/// in ``refusal``. A request with a refusal fails before anything is sent. A value therefore cannot inject lines into a
/// message, and no field is dropped silently.
public struct HTTPFields: Sendable {
  /// One reference: fields belong to every head, and heads are copied often.
  private var content = Content.lines([])

  private enum Content: Sendable {
    case lines([Line])
    /// Received fields: their lines are made on demand.
    case received(ReceivedFields)
    /// Lines, and the error of the first refused field.
    indirect case refused([Line], HTTPFields.Refusal)
  }

  struct Line: Sendable, Hashable {
    var name: FieldName
    var value: String
  }

  /// Makes an empty collection.
  public init() {}

  /// Makes fields of a received message.
  init(_ received: ReceivedFields) { content = .received(received) }

  /// The error of the first refused field; nil if all were accepted.
  public var refusal: HTTPFields.Refusal? { if case .refused(_, let error) = content { error } else { nil } }

  private var lines: [Line] {
    switch content {
    case .lines(let lines), .refused(let lines, _): lines
    case .received(let received): received.lines
    }
  }

  /// Changes the lines where they are, unless they are shared.
  private mutating func change(_ body: (inout [Line]) -> Void) {
    let refusal = refusal
    var lines = lines
    content = .lines([])  // so that the array is not shared with this value
    body(&lines)
    content = refusal.map { .refused(lines, $0) } ?? .lines(lines)
  }

  /// Adds a line at the end: like ``change(_:)``, in a third of the time.
  private mutating func add(_ line: Line) {
    guard case .lines(var lines) = content else { return change { $0.append(line) } }
    content = .lines([])  // so that the array is not shared with this value
    if lines.count == lines.capacity { lines.reserveCapacity(Swift.max(8, 2 * lines.count)) }
    lines.append(line)
    content = .lines(lines)
  }

  private mutating func refuse(_ error: HTTPFields.Refusal) {
    if refusal == nil { content = .refused(lines, error) }
  }

  /// The value of a field, nil if it is absent. Several lines are joined with a comma and a space (RFC 9110 §5.3).
  ///
  /// Lines of `Cookie` are joined with a semicolon (RFC 9113 §8.2.3). Lines of `Set-Cookie` cannot be joined without
  /// loss: read them through ``subscript(values:)``. Setting a value replaces all lines of that name, at the position
  /// of the first; setting nil removes them.
  public subscript(name: FieldName) -> String? {
    get {
      let separator = name == .cookie ? "; " : ", "
      if case .received(let received) = content { return received.value(of: name, separator: separator) }
      var joined: String?
      for line in lines where line.name == name {
        joined = joined.map { $0 + separator + line.value } ?? line.value
      }
      return joined
    }
    set {
      guard let newValue else { return remove(name) }
      guard let value = accepted(newValue, for: name) else { return }
      guard contains(name) else { return add(Line(name: name, value: value)) }
      change { lines in
        guard let first = lines.firstIndex(where: { $0.name == name }) else { return }
        lines[first].value = value
        guard lines[(first + 1)...].contains(where: { $0.name == name }) else { return }
        let rest = lines[(first + 1)...].filter { $0.name != name }
        lines.replaceSubrange((first + 1)..., with: rest)
      }
    }
  }

  /// The values of all lines with that name, in order.
  public subscript(values name: FieldName) -> [String] {
    if case .received(let received) = content { return received.values(of: name) }
    return lines.filter { $0.name == name }.map(\.value)
  }

  /// Appends a line, and keeps existing lines of the same name.
  public mutating func append(_ value: String, for name: FieldName) {
    guard let value = accepted(value, for: name) else { return }
    add(Line(name: name, value: value))
  }

  /// Appends the lines of other fields, which accepted them.
  package mutating func append(contentsOf other: HTTPFields) {
    for line in other.lines { add(line) }
    if let refusal = other.refusal { refuse(refusal) }
  }

  /// Appends a line whose name is from outside the program. A name that is not a token is refused like an invalid
  /// value.
  public mutating func append(_ value: String, forName name: String) {
    do throws(HTTPFields.Refusal) { append(value, for: try FieldName(name)) } catch { refuse(error) }
  }

  /// Removes all lines with that name.
  public mutating func remove(_ name: FieldName) {
    guard contains(name) else { return }
    change { $0.removeAll { $0.name == name } }
  }

  /// Removes all lines whose name satisfies the condition.
  package mutating func removeAll(where condition: (FieldName) -> Bool) {
    change { $0.removeAll { condition($0.name) } }
  }

  /// Whether there is a line with that name, even with an empty value.
  public func contains(_ name: FieldName) -> Bool {
    switch content {
    case .lines(let lines), .refused(let lines, _): lines.contains { $0.name == name }
    case .received(let received): received.contains(name)
    }
  }

  /// Whether there is a line with one of the names.
  package func contains(_ names: FieldNames) -> Bool { lines.contains { names.contains($0.name) } }

  /// Throws ``refusal`` if there is one, to check the fields before sending.
  public func validate() throws(HTTPFields.Refusal) {
    if let refusal { throw refusal }
  }

  /// Appends a line of a received message, which is already framed: control characters become spaces, as RFC 9110 §5.5
  /// allows a recipient, and leading and trailing white space is removed.
  ///
  /// `Set-Cookie` keeps its control characters: a cookie with any of them must be ignored (RFC 6265bis §5.6), and that
  /// could not be detected once they are spaces.
  @_spi(Toolkit) public mutating func appendReceived(_ name: FieldName, _ value: String) {
    let clean =
      Self.isValidValue(value) || name == .setCookie
      ? value : String(decoding: value.utf8.map { ASCII.isControl($0) ? 32 : $0 }, as: UTF8.self)
    change { $0.append(Line(name: name, value: String(ASCII.trimmed(clean)))) }
  }

  package mutating func reserveCapacity(_ count: Int) { change { $0.reserveCapacity(count) } }

  /// Returns the value without white space around it; nil if it is refused.
  private mutating func accepted(_ value: String, for name: FieldName) -> String? {
    guard Self.isValidValue(value) else {
      refuse(.invalidValue(name: name.rawName))
      return nil
    }
    return String(ASCII.trimmed(value))
  }

  /// field-value of RFC 9110 §5.5: visible characters, obs-text, space and tab.
  private static func isValidValue(_ value: String) -> Bool {
    var value = value
    return value.withUTF8 { ByteScan.isFieldContent(UnsafeRawBufferPointer($0)) }
  }
}

extension HTTPFields: Sequence {
  /// The lines in order, each as a name and a value.
  public func makeIterator() -> Iterator { Iterator(lines) }

  /// The lines in order, each as a name and a value.
  ///
  /// The type is not opaque: other modules would have to look it up while the program runs, which takes longer than the
  /// lines.
  public struct Iterator: IteratorProtocol, Sendable {
    private var lines: IndexingIterator<[Line]>

    fileprivate init(_ lines: [Line]) { self.lines = lines.makeIterator() }

    /// Returns the next line; nil after the last one.
    public mutating func next() -> (name: FieldName, value: String)? { lines.next().map { ($0.name, $0.value) } }
  }

  /// The number of lines.
  public var count: Int {
    switch content {
    case .lines(let lines), .refused(let lines, _): lines.count
    case .received(let received): received.count
    }
  }

  /// Whether there are no lines.
  public var isEmpty: Bool { count == 0 }
}

extension HTTPFields: Hashable {
  /// Compares lines and refusals. Names are equal in any case, values are not.
  public static func == (left: Self, right: Self) -> Bool {
    left.lines == right.lines && left.refusal == right.refusal
  }

  /// Hashes lines and refusal.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(lines)
    hasher.combine(refusal)
  }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
  /// Makes fields from a literal such as `[.accept: "text/html", "X-Tag": "a", "X-Tag": "b"]`. Order and repeated
  /// names are kept.
  public init(dictionaryLiteral elements: (FieldName, String)...) {
    for (name, value) in elements { append(value, for: name) }
  }
}

extension HTTPFields {
  /// The elements of a list field (RFC 9110 §5.6.1), from all its lines, in order.
  ///
  /// ```swift
  /// let fields: HTTPFields = [.vary: "Accept, Origin", .vary: "Cookie"]
  /// fields.list(.vary)   // ["Accept", "Origin", "Cookie"]
  /// ```
  ///
  /// Commas in quoted strings do not separate elements, and quotes are kept as part of the element. Empty elements are
  /// ignored. Do not use it for `Set-Cookie` and fields that contain one date: their commas are not separators.
  public func list(_ name: FieldName) -> [String] {
    self[values: name].flatMap { FieldList.elements(of: $0[...]).map(String.init) }
  }
}
