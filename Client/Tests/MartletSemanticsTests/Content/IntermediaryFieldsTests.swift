import MartletSemantics
import Testing

/// `Priority` (RFC 9218), `Cache-Status` (RFC 9211) and `Proxy-Status` (RFC 9209), with all examples of the RFCs.
struct IntermediaryFieldsTests {
  // MARK: - Priority

  @Test(
    arguments: [
      // §4.1, §4.2, §8: the examples
      ("u=0", HTTPPriority(urgency: 0)), ("u=5, i", HTTPPriority(urgency: 5, isIncremental: true)),
      ("u=1", HTTPPriority(urgency: 1)), ("i=?0", HTTPPriority(isIncremental: false)), ("", HTTPPriority()),
      // §4: values of other types, out of range, and unknown parameters are ignored
      ("u=8", HTTPPriority()), ("u=-1, i", HTTPPriority(isIncremental: true)), ("u=1.5", HTTPPriority()),
      ("u=\"1\"", HTTPPriority()), ("i=1, u=7", HTTPPriority(urgency: 7)), ("x=1, u=2", HTTPPriority(urgency: 2)),
      ("u=(1 2)", HTTPPriority()), ("u=999999999999999", HTTPPriority()), ("u=1;a=2", HTTPPriority(urgency: 1)),
      // no dictionary
      ("U=1", nil), ("u=", nil), ("u=1,", nil),
    ] as [(String, HTTPPriority?)])
  func aPriorityIsADictionary(_ value: String, _ priority: HTTPPriority?) {
    #expect((["Priority": value] as HTTPFields).priority == priority)
  }

  @Test(
    arguments: [
      (HTTPPriority(urgency: 5, isIncremental: true), "u=5, i", "urgency 5 of 0 to 7, incremental"),
      (HTTPPriority(urgency: 0), "u=0", "urgency 0 of 0 to 7"),
      (HTTPPriority(isIncremental: false), "i=?0", "urgency 3 of 0 to 7"),
      (HTTPPriority(urgency: 8), nil, "urgency 3 of 0 to 7"), (nil, nil, nil),
    ] as [(HTTPPriority?, String?, String?)])
  func aPriorityIsWritten(_ priority: HTTPPriority?, _ value: String?, _ words: String?) {
    var fields: HTTPFields = ["Priority": "u=6"]
    fields.priority = priority
    #expect(fields["Priority"] == value)
    #expect(priority?.description == words)
  }

  @Test func anUrgencyOutOfRangeIsNotSaid() {
    var priority = HTTPPriority(urgency: -1)
    #expect(priority.urgency == nil)
    priority.urgency = 7
    priority.urgency = 8
    #expect(priority.urgency == nil)
  }

  /// §8: the example, where the response's urgency counts and the request's `i` stays.
  @Test func theResponseOverridesWhatItSays() {
    let asked = HTTPPriority(urgency: 5, isIncremental: true)
    #expect(asked.merged(with: HTTPPriority(urgency: 1)) == HTTPPriority(urgency: 1, isIncremental: true))
    #expect(asked.merged(with: HTTPPriority(isIncremental: false)) == HTTPPriority(urgency: 5, isIncremental: false))
  }

  // MARK: - Cache-Status

  @Test(
    arguments: [
      ("ExampleCache; hit; detail=MEMORY", "ExampleCache: hit, MEMORY"), ("ExampleCache; hit", "ExampleCache: hit"),
      ("ExampleCache; hit; ttl=376", "ExampleCache: hit, fresh for 376 s"),
      ("ExampleCache; hit; ttl=-412", "ExampleCache: hit, stale for 412 s"),
      ("ExampleCache; fwd=uri-miss", "ExampleCache: forwarded (uri-miss)"),
      ("ExampleCache; fwd=stale; fwd-status=304", "ExampleCache: forwarded (stale), status 304"),
      ("ExampleCache; fwd=uri-miss; collapsed", "ExampleCache: forwarded (uri-miss), shared with another request"),
      ("ExampleCache; fwd=uri-miss; collapsed=?0", "ExampleCache: forwarded (uri-miss), not shared"),
      (
        "OriginCache; hit; ttl=1100, \"CDN Company Here\"; hit; ttl=545",
        "OriginCache: hit, fresh for 1100 s|CDN Company Here: hit, fresh for 545 s"
      ),
      (
        "ForwardProxyCache; fwd=uri-miss; collapsed; stored",
        "ForwardProxyCache: forwarded (uri-miss), shared with another request, stored"
      ),
      // parameters of other types and unknown ones are ignored; members have a name
      ("A; hit=1; fwd=\"x\"; ttl=1.5; fwd-status=99; stored=a; key=k; x=y", "A: nothing said"),
      ("A; hit=?0; stored=?0", "A: not stored"), ("17; hit, (a b), B; hit", "B: hit"),
      ("A; key=\"/secret\"; hit", "A: hit"), ("", ""), ("A; hit,", ""),
      (
        "A; ttl=999999999999999",
        "A: fresh for 999999999999999 s"
      ),
    ] as [(String, String)])
  func cachesSayWhatTheyDid(_ value: String, _ words: String) {
    let statuses = (["Cache-Status": value] as HTTPFields).cacheStatuses
    #expect(statuses.map(\.description).joined(separator: "|") == words)
  }

  /// §3: the last example, with a line for each cache.
  @Test func linesOfCachesAreOneList() throws {
    let statuses =
      ([
        "Cache-Status": "ReverseProxyCache; hit", "cache-status": "ForwardProxyCache; fwd=uri-miss; collapsed; stored",
        "Cache-Status": "BrowserCache; fwd=uri-miss; key=\"k\"",
      ] as HTTPFields).cacheStatuses
    #expect(statuses.map(\.name) == ["ReverseProxyCache", "ForwardProxyCache", "BrowserCache"])
    #expect(statuses.map(\.isHit) == [true, false, false])
    #expect(statuses.map(\.isStored) == [nil, true, nil])
    #expect(statuses.map(\.forwardReason) == [nil, .uriMiss, .uriMiss])
    #expect(statuses.last?.key == "k")
  }

  // MARK: - Proxy-Status

  @Test(
    arguments: [
      ("revproxy1.example.net, ExampleCDN", "revproxy1.example.net|ExampleCDN"), ("SomeOtherProxy", "SomeOtherProxy"),
      ("SomeOtherProxy, ThisProxy", "SomeOtherProxy|ThisProxy"),
      ("ThisProxy; error=read_timeout", "ThisProxy: read_timeout"),
      ("ExampleCDN; error=connection_timeout", "ExampleCDN: connection_timeout"),
      ("r34.example.net; error=http_request_error, ExampleCDN", "r34.example.net: http_request_error|ExampleCDN"),
      ("cdn.example.org; next-hop=backend.example.org:8001", "cdn.example.org: next hop backend.example.org:8001"),
      ("\"proxy.example.org\"; next-protocol=h2", "proxy.example.org: over h2"),
      ("ExampleCDN; received-status=200", "ExampleCDN: received status 200"),
      (
        "proxy.example.net; error=\"http_protocol_error\"; details=\"Malformed response header: space before colon\"",
        "proxy.example.net: http_protocol_error, Malformed response header: space before colon"
      ),
      // §2.1.3: an ALPN name that is no token is bytes
      ("A; next-protocol=:aHR0cC8xLjE=:", "A: over http/1.1"), ("A; next-protocol=:/w==:", "A"),
      ("A; received-status=\"200\"; details=token; next-hop=1; x=y", "A"), ("A; error=", ""), ("(A), 1", ""),
    ] as [(String, String)])
  func proxiesSayWhatTheyDid(_ value: String, _ words: String) {
    let statuses = (["Proxy-Status": value] as HTTPFields).proxyStatuses
    #expect(statuses.map(\.description).joined(separator: "|") == words)
  }

  @Test func parametersOfCertainErrorsAreKept() {
    let fields: HTTPFields = ["Proxy-Status": "A; error=dns_error; rcode=\"NXDOMAIN\"; info-code=17"]
    #expect(fields.proxyStatuses.first?.error == "dns_error")
    #expect(fields.proxyStatuses.first?.parameters["info-code"] == .integer(17))
  }
}
