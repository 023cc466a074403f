import MartletEngine
public import MartletSemantics

/// A recording of HTTP calls in the HTTP Archive format, HAR 1.2, which browsers export and many tools read.
///
/// The names are those of the format (http://www.softwareishard.com/blog/har-12-spec/). Reading is lenient: a value
/// that is missing or has another type gets a default. Sizes and times that are not known are -1.
///
/// ```swift
/// let har = try HAR(json: Data(contentsOf: file))
/// for entry in har.log.entries { print(entry.request.method, entry.request.url, entry.response.status) }
/// ```
public struct HAR: Sendable, Hashable, Codable {
  /// The log, the only member of the document.
  public var log: Log

  /// Makes a document.
  public init(log: Log) { self.log = log }

  /// Reads a document; a byte order mark is ignored.
  ///
  /// - Throws: `DecodingError` if the text is not JSON, or not an object with a `log`.
  public init(json: Data) throws {
    let mark = Data([0xEF, 0xBB, 0xBF])
    self = try JSONDecoder().decode(HAR.self, from: json.starts(with: mark) ? json.dropFirst(3) : json)
  }

  /// Returns the document as indented JSON in UTF-8, with the names in alphabetical order.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }

  /// The recorded calls, and the program that recorded them.
  public struct Log: Sendable, Hashable, Codable {
    /// The version of the format, `1.2`.
    public var version: String
    /// The program that made the recording.
    public var creator: Creator
    /// The browser that made the calls; nil if it was another program.
    public var browser: Creator?
    /// The pages that were loaded; nil if the document does not have them.
    public var pages: [Page]?
    /// The entries, the oldest first.
    public var entries: [Entry]
    /// A remark.
    public var comment: String?

    /// Makes a log of version 1.2, with an empty list of pages: the format has them as optional, but some readers fail
    /// without them, such as that of Firefox.
    public init(creator: Creator, entries: [Entry], comment: String? = nil) {
      version = "1.2"
      pages = []
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

  /// A program: the one that recorded the calls, or the browser.
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
    /// The date at which the load began.
    public var startedDateTime: Date {
      get { started.date }
      set { started.date = newValue }
    }
    private var started: HARDate
    /// The identifier to which ``Entry/pageref`` refers.
    public var id: String
    /// Its title.
    public var title: String
    /// The times at which it was usable.
    public var pageTimings: PageTimings
    /// A remark.
    public var comment: String?

    private enum CodingKeys: String, CodingKey {
      case started = "startedDateTime"
      case id, title, pageTimings, comment
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      started = values.value(.started) ?? HARDate(date: .distantPast)
      id = values.text(.id) ?? ""
      title = values.text(.title) ?? ""
      pageTimings = values.value(.pageTimings) ?? PageTimings(onContentLoad: nil, onLoad: nil)
      comment = values.text(.comment)
    }
  }

  /// The times at which a page was usable, in milliseconds after its start.
  public struct PageTimings: Sendable, Hashable, Codable {
    /// The time at which its content was loaded; -1 if that does not apply.
    public var onContentLoad: Double?
    /// The time at which everything was loaded; -1 if that does not apply.
    public var onLoad: Double?
  }
}

extension HAR {
  /// One request and its response. A redirect or a retry is an entry of its own.
  public struct Entry: Sendable, Hashable, Codable {
    /// The ``Page/id`` of the page that it belongs to.
    public var pageref: String?
    /// The date at which the request began.
    public var startedDateTime: Date {
      get { started.date }
      set { started.date = newValue }
    }
    private var started: HARDate
    /// The duration in milliseconds: the sum of ``timings``.
    public var time: Double
    /// The request.
    public var request: Request
    /// The response; ``Response/status`` is 0 if there was none.
    public var response: Response
    /// The state of the cache before and after the request.
    public var cache: Cache
    /// The times of its phases.
    public var timings: Timings
    /// The IP address of the server or the proxy.
    public var serverIPAddress: String?
    /// Identifies the connection; the recorder uses the local port.
    public var connection: String?
    /// The type of the resource: `websocket` if the request opened a WebSocket. An extension of the format, as
    /// `_resourceType`.
    public var resourceType: String?
    /// The messages of the WebSocket that the request opened; nil for any other request. An extension of the format, as
    /// `_webSocketMessages`.
    public var webSocketMessages: [WebSocketMessage]?
    /// The number of later messages of the WebSocket that the recorder left out, because its limit was reached; nil if
    /// it left out none. An extension of the format, as `_omittedWebSocketMessages`.
    public var omittedWebSocketMessages: Int64?
    /// The TLS of the connection, and the server's certificate. An extension of the format, as `_securityDetails`, with
    /// the members that browsers' tools write.
    public var securityDetails: SecurityDetails?
    /// A remark; the recorder notes the numbers of the call and the attempt, and why it was not the last attempt.
    public var comment: String?

    private enum CodingKeys: String, CodingKey {
      case started = "startedDateTime"
      case pageref, time, request, response, cache, timings, serverIPAddress, connection, comment
      case resourceType = "_resourceType"
      case webSocketMessages = "_webSocketMessages"
      case omittedWebSocketMessages = "_omittedWebSocketMessages"
      case securityDetails = "_securityDetails"
    }

    /// Makes an entry.
    public init(
      startedDateTime: Date, request: Request, response: Response, timings: Timings, comment: String? = nil
    ) {
      started = HARDate(date: startedDateTime)
      time = timings.sum
      self.request = request
      self.response = response
      cache = Cache()
      self.timings = timings
      self.comment = comment
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      pageref = values.text(.pageref)
      started = values.value(.started) ?? HARDate(date: .distantPast)
      request = try values.decode(Request.self, forKey: .request)
      response = try values.decode(Response.self, forKey: .response)
      cache = values.value(.cache) ?? Cache()
      timings = values.value(.timings) ?? Timings()
      time = values.number(.time) ?? timings.sum
      serverIPAddress = values.text(.serverIPAddress)
      connection = values.text(.connection)
      resourceType = values.text(.resourceType)
      webSocketMessages = values.value(.webSocketMessages)
      omittedWebSocketMessages = values.integer(.omittedWebSocketMessages)
      securityDetails = values.value(.securityDetails)
      comment = values.text(.comment)
    }
  }

  /// The TLS of a connection, and the server's certificate.
  public struct SecurityDetails: Sendable, Hashable, Codable {
    /// The version, such as `TLS 1.3`.
    public var `protocol`: String?
    /// The name of the cipher suite.
    public var cipher: String?
    /// The protocol that was negotiated (ALPN), such as `h2`.
    public var applicationProtocol: String?
    /// The subject of the certificate.
    public var subjectName: String?
    /// The issuer of the certificate.
    public var issuer: String?
    /// When the certificate's validity begins, in seconds since 1970.
    public var validFrom: Double?
    /// When the certificate's validity ends, in seconds since 1970.
    public var validTo: Double?

    /// Makes details without values.
    public init() {}

    init(_ tls: TransferMetrics.TLS) {
      `protocol` = tls.version.replacing("TLSv", with: "TLS ")
      cipher = tls.cipher
      applicationProtocol = tls.applicationProtocol
      subjectName = tls.certificate?.subject
      issuer = tls.certificate?.issuer
      validFrom = tls.certificate?.validFrom?.timeIntervalSince1970
      validTo = tls.certificate?.validUntil?.timeIntervalSince1970
    }
  }

  /// The times of an entry's phases, in milliseconds; -1 for a phase that did not take place or is not known.
  public struct Timings: Sendable, Hashable, Codable {
    /// Waiting for a connection.
    public var blocked = -1.0
    /// Resolving the host's name.
    public var dns = -1.0
    /// Connecting, including TLS.
    public var connect = -1.0
    /// Sending the request.
    public var send = 0.0
    /// Waiting for the response's first byte.
    public var wait = 0.0
    /// Receiving the response.
    public var receive = 0.0
    /// The TLS handshake; it is part of ``connect``.
    public var ssl = -1.0
    /// A remark.
    public var comment: String?

    /// Makes timings without measurements.
    public init() {}

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      blocked = values.number(.blocked) ?? -1
      dns = values.number(.dns) ?? -1
      connect = values.number(.connect) ?? -1
      send = values.number(.send) ?? 0
      wait = values.number(.wait) ?? 0
      receive = values.number(.receive) ?? 0
      ssl = values.number(.ssl) ?? -1
      comment = values.text(.comment)
    }

    /// The sum of all known phases.
    public var sum: Double { [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1) } }
  }

  /// The states of a cache; empty if nothing is known.
  public struct Cache: Sendable, Hashable, Codable {
    /// The stored response before the request.
    public var beforeRequest: CacheState?
    /// The stored response after the request.
    public var afterRequest: CacheState?
    /// A remark.
    public var comment: String?

    /// Makes empty states.
    public init() {}
  }

  /// A stored response.
  public struct CacheState: Sendable, Hashable, Codable {
    /// The date at which it becomes stale, in the format's form.
    public var expires: String?
    /// The date at which it was last used.
    public var lastAccess: String?
    /// Its entity tag.
    public var eTag: String?
    /// The number of times it was used.
    public var hitCount: Int64?
    /// A remark.
    public var comment: String?

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      expires = values.text(.expires)
      lastAccess = values.text(.lastAccess)
      eTag = values.text(.eTag)
      hitCount = values.integer(.hitCount)
      comment = values.text(.comment)
    }
  }
}
