extension HAR {
  /// One request and its response. A redirect or a retry is an entry of its own.
  public struct Entry: Sendable, Hashable, Codable {
    /// The ``Page/id`` of the page that it belongs to.
    public var pageref: String?
    /// When the request began.
    @HARDate public var startedDateTime: Date
    /// How long it took, in milliseconds: the sum of ``timings``.
    public var time: Double
    /// The request.
    public var request: Request
    /// The response; ``Response/status`` is 0 where there was none.
    public var response: Response
    /// What a cache knew before and afterwards.
    public var cache: Cache
    /// Where the time went.
    public var timings: Timings
    /// The numeric address of the server that answered, or of the proxy.
    public var serverIPAddress: String?
    /// Tells connections apart: here the client's port.
    public var connection: String?
    /// A remark: here which attempt of which exchange it was, and why it was not the last.
    public var comment: String?

    /// Makes an entry.
    public init(
      startedDateTime: Date, request: Request, response: Response, timings: Timings, comment: String? = nil
    ) {
      _startedDateTime = HARDate(wrappedValue: startedDateTime)
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
      _startedDateTime = values.value(.startedDateTime) ?? HARDate(wrappedValue: .distantPast)
      request = try values.decode(Request.self, forKey: .request)
      response = try values.decode(Response.self, forKey: .response)
      cache = values.value(.cache) ?? Cache()
      timings = values.value(.timings) ?? Timings()
      time = values.number(.time) ?? timings.sum
      serverIPAddress = values.text(.serverIPAddress)
      connection = values.text(.connection)
      comment = values.text(.comment)
    }
  }

  /// Where the time of an entry went, in milliseconds; -1 where a phase did not happen or is not known.
  public struct Timings: Sendable, Hashable, Codable {
    /// Waiting for a connection.
    public var blocked = -1.0
    /// Resolving the host's name.
    public var dns = -1.0
    /// Connecting, TLS included.
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

    /// Makes timings of which nothing is known.
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

    /// All phases that are known.
    public var sum: Double { [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1) } }
  }

  /// What a cache knew; empty where nothing is known.
  public struct Cache: Sendable, Hashable, Codable {
    /// The stored response before the request.
    public var beforeRequest: CacheState?
    /// The stored response after the request.
    public var afterRequest: CacheState?
    /// A remark.
    public var comment: String?

    /// Makes a state of which nothing is known.
    public init() {}
  }

  /// A stored response.
  public struct CacheState: Sendable, Hashable, Codable {
    /// Until when it is fresh, as the format's own dates.
    public var expires: String?
    /// When it was last used.
    public var lastAccess: String?
    /// Its entity tag.
    public var eTag: String?
    /// How often it was used.
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
