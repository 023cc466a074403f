// Reading. `in:` names a set, `at:` one entity or property.
extension OnlineODataProvider {
  /// Reads one page of a set, which may have all of it.
  ///
  /// ```swift
  /// let page = try await provider.page(of: Order.self, in: "Orders", ODataQuery().top(20).withCount())
  /// print(page.count ?? 0, page.values.map(\.status))
  /// ```
  @concurrent public func page<Value: Decodable & Sendable>(
    of type: Value.Type, in path: ODataPath, _ query: ODataQuery = ODataQuery()
  ) async throws -> ODataPage<Value> {
    try await connection().send(ODataOperation(.get, path, query)).page(type)
  }

  /// Returns the pages of a set, which are read as they are iterated: the service's links to next pages are followed,
  /// on its own origin only.
  ///
  /// ```swift
  /// for try await page in provider.pages(of: Order.self, in: "Orders") { print(page.values.count) }
  /// ```
  public func pages<Value: Decodable & Sendable>(
    of type: Value.Type, in path: ODataPath, _ query: ODataQuery = ODataQuery()
  ) -> ODataPages<Value> {
    ODataPages(provider: self, operation: ODataOperation(.get, path, query), first: nil)
  }

  /// Returns the changes to a set since its ``ODataPage/deltaLink`` was read: see ``ODataPage/removed``. The last page
  /// has the link for the next time. Added and deleted links between entities are left out.
  ///
  /// It works for any link to a page, too.
  public func changes<Value: Decodable & Sendable>(of type: Value.Type, since link: ODataLink) -> ODataPages<Value> {
    ODataPages(provider: self, operation: ODataOperation(.get, .root), first: link)
  }

  /// Reads one entity, or a property of a complex type. An optional type reads what may be null, such as a navigation
  /// property without an entity (204), as nil; a null is an error for any other type.
  ///
  /// ```swift
  /// let path = ODataPath("Orders").key(42)
  /// let order = try await provider.entity(Order.self, at: path, ODataQuery().expand("Items"))
  /// ```
  @concurrent public func entity<Value: Decodable & Sendable>(
    _ type: Value.Type, at path: ODataPath, _ query: ODataQuery = ODataQuery()
  ) async throws -> ODataEntity<Value> {
    try await connection().send(ODataOperation(.get, path, query)).entity(type)
  }

  /// Returns the number of entities in a set that fulfil the query (`$count`).
  @concurrent public func count(in path: ODataPath, _ query: ODataQuery = ODataQuery()) async throws -> Int {
    let operation = ODataOperation(.get, path.appending("$count"), query, fields: [("Accept", "text/plain")])
    let answer = try await connection().send(operation)
    let text = String(decoding: answer.body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard let count = Int(text.hasPrefix("\u{FEFF}") ? String(text.dropFirst()) : text) else {
      throw ODataError(.invalidResponse, "the answer to $count is not a number")
    }
    return count
  }

  /// Calls a function: a V4 function, unbound or bound to a path, or a V2 function import by GET.
  ///
  /// - Parameters:
  ///   - name: the function; a bound one with its namespace: `com.example.Discount`.
  ///   - parameters: its parameters, in the order of the service's metadata.
  ///   - path: what it is bound to; by default nothing, as in V2.
  ///   - type: the type of the result: an entity, a value, or an array of them; optional if the result may be null.
  @concurrent public func call<Value: Decodable & Sendable>(
    _ name: String, _ parameters: KeyValuePairs<String, ODataLiteral> = [:], on path: ODataPath = .root,
    returning type: Value.Type
  ) async throws -> Value {
    let connection = try connection()
    var operation = ODataOperation(.get, path.appending(name))
    if connection.format.version == .v4 {
      operation.path = operation.path.key(parameters)
    } else {
      operation.parameters = parameters.map { ($0.key, $0.value) }
    }
    return try await connection.send(operation).json.result(type, of: name)
  }
}

/// The pages of a set, or of the changes to it. Each is read when the loop asks for it.
///
/// A link that was followed already, more than `limits.pages` pages, and a link to another origin are errors.
public struct ODataPages<Value: Decodable & Sendable>: AsyncSequence, Sendable {
  public typealias Element = ODataPage<Value>

  fileprivate let provider: OnlineODataProvider
  fileprivate let operation: ODataOperation
  /// The link that stands in place of the operation's URL.
  fileprivate let first: ODataLink?

  /// Reads all pages, and returns their entities.
  ///
  /// - Parameter limit: the maximum number of entities; more are an error, ``ODataError/Kind/tooManyPages``. So are
  ///   more empty pages with a link to the next one.
  @concurrent public func collect(upTo limit: Int) async throws -> [ODataEntity<Value>] {
    var entities: [ODataEntity<Value>] = []
    var emptyPages = 0
    for try await page in self {
      guard entities.count + page.entities.count <= limit else {
        throw ODataError(.tooManyPages, "there are more than \(limit) entities: filter, or iterate over the pages")
      }
      entities += page.entities
      if page.entities.isEmpty, page.removed.isEmpty, page.nextLink != nil { emptyPages += 1 }
      guard emptyPages <= limit else {
        throw ODataError(.tooManyPages, "there are more than \(limit) empty pages: iterate over the pages, or filter")
      }
    }
    return entities
  }

  public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

  /// Iterates over the pages.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let pages: ODataPages
    private var connection: ODataConnection?
    private var next: ODataLink?
    private var followed: Set<ODataLink> = []
    private var pageCount = 0
    private var isAtEnd = false

    fileprivate init(pages: ODataPages) { (self.pages, next) = (pages, pages.first) }

    /// Reads the next page; nil after the last one, and after an error.
    public mutating func next() async throws -> ODataPage<Value>? {
      guard !isAtEnd else { return nil }
      isAtEnd = true
      let connection = try self.connection ?? pages.provider.connection()
      self.connection = connection
      if let next, !followed.insert(next).inserted {
        throw ODataError(.tooManyPages, "the service's links to next pages lead in a cycle")
      }
      guard pageCount < connection.options.limits.pages else {
        throw ODataError(
          .tooManyPages,
          "there are more than \(connection.options.limits.pages) pages: filter, or raise serviceOptions.limits.pages")
      }
      pageCount += 1
      let page = try await Self.read(pages, next, connection)
      next = page.nextLink
      isAtEnd = next == nil
      return page
    }

    @concurrent private static func read(
      _ pages: ODataPages, _ link: ODataLink?, _ connection: ODataConnection
    ) async throws -> ODataPage<Value> {
      let operation = pages.operation
      guard let link else { return try await connection.send(operation).page(Value.self) }
      let fields = operation.fields(connection.format)
      let request = try connection.makeRequest(.get, connection.root.url(link), fields)
      return try await connection.send(request).page(Value.self)
    }
  }
}
