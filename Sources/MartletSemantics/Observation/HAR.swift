/// A recording of HTTP exchanges in the HTTP Archive format, HAR 1.2: what browsers export and many tools read.
///
/// The names are those of the format (http://www.softwareishard.com/blog/har-12-spec/). Writing is exact, reading is
/// forgiving: what other programs leave out or write in another type gets a default. Sizes and times that are not known
/// are -1.
///
/// ```swift
/// let har = try HAR(json: Data(contentsOf: file))
/// for entry in har.log.entries { print(entry.request.method, entry.request.url, entry.response.status) }
/// ```
public struct HAR: Sendable, Hashable, Codable {
  /// The one object of the document.
  public var log: Log

  /// Makes a document.
  public init(log: Log) { self.log = log }

  /// Reads a document; a byte order mark is ignored.
  ///
  /// - Throws: `DecodingError` if the text is no JSON, or no object with a `log`.
  public init(json: Data) throws {
    let mark = Data([0xEF, 0xBB, 0xBF])
    self = try JSONDecoder().decode(HAR.self, from: json.starts(with: mark) ? json.dropFirst(3) : json)
  }

  /// The document as JSON in UTF-8, laid out for people, names in alphabetical order.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }

  /// What was recorded, by whom.
  public struct Log: Sendable, Hashable, Codable {
    /// The version of the format, `1.2`.
    public var version: String
    /// The program that made the recording.
    public var creator: Creator
    /// The browser that was recorded, where it was one.
    public var browser: Creator?
    /// The pages that were loaded; nil where there are no pages.
    public var pages: [Page]?
    /// The exchanges, the oldest first.
    public var entries: [Entry]
    /// A remark.
    public var comment: String?

    /// Makes a log of version 1.2.
    public init(creator: Creator, entries: [Entry], comment: String? = nil) {
      version = "1.2"
      self.creator = creator
      self.entries = entries
      self.comment = comment
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      version = values.text(.version) ?? "1.2"
      creator = values.value(.creator) ?? Creator(name: "", version: "")
      browser = values.value(.browser)
      pages = values.value(.pages)
      entries = try values.decodeIfPresent([Entry].self, forKey: .entries) ?? []
      comment = values.text(.comment)
    }
  }

  /// A program: the one that recorded, or the browser.
  public struct Creator: Sendable, Hashable, Codable {
    /// Its name.
    public var name: String
    /// Its version.
    public var version: String
    /// A remark.
    public var comment: String?

    /// Makes the description of a program.
    public init(name: String, version: String, comment: String? = nil) {
      self.name = name
      self.version = version
      self.comment = comment
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        name: values.text(.name) ?? "", version: values.text(.version) ?? "", comment: values.text(.comment))
    }
  }

  /// A page that a browser loaded.
  public struct Page: Sendable, Hashable, Codable {
    /// When the load began.
    @HARDate public var startedDateTime: Date
    /// What ``Entry/pageref`` refers to.
    public var id: String
    /// Its title.
    public var title: String
    /// How long it took.
    public var pageTimings: PageTimings
    /// A remark.
    public var comment: String?

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      _startedDateTime = values.value(.startedDateTime) ?? HARDate(wrappedValue: .distantPast)
      id = values.text(.id) ?? ""
      title = values.text(.title) ?? ""
      pageTimings = values.value(.pageTimings) ?? PageTimings(onContentLoad: nil, onLoad: nil)
      comment = values.text(.comment)
    }
  }

  /// When a page was usable, in milliseconds after its start.
  public struct PageTimings: Sendable, Hashable, Codable {
    /// When its content was there; -1 if that does not apply.
    public var onContentLoad: Double?
    /// When everything was loaded; -1 if that does not apply.
    public var onLoad: Double?
  }
}

/// A date as the archive writes it: ISO 8601 with milliseconds.
@propertyWrapper
public struct HARDate: Sendable, Hashable, Codable {
  /// The date.
  public var wrappedValue: Date

  /// Makes a date.
  public init(wrappedValue: Date) { self.wrappedValue = wrappedValue }

  public init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    wrappedValue = Timestamp.parse(text) ?? .distantPast
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Timestamp.format(wrappedValue))
  }
}

extension KeyedDecodingContainer {
  /// A value that may be missing, null, or something that cannot be read.
  func value<Value: Decodable>(_ key: Key) -> Value? { try? decodeIfPresent(Value.self, forKey: key) }

  /// A text, also where a number stands.
  func text(_ key: Key) -> String? {
    if let text: String = value(key) { return text }
    if let number: Int64 = value(key) { return String(number) }
    return (value(key) as Double?).map { String($0) }
  }

  /// A number, also where a text stands for it; never one that JSON has no words for.
  func number(_ key: Key) -> Double? {
    if let number: Double = value(key) { return number }
    return (value(key) as String?).flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
  }

  /// A whole number; one with a fraction loses it.
  func integer(_ key: Key) -> Int64? {
    if let number: Int64 = value(key) { return number }
    return number(key).flatMap { Int64(exactly: $0.rounded(.towardZero)) }
  }
}
