import CGSSAPI
import TestSupport
import Testing

@testable import MartletKerberos

/// The credential caches of stores.
@Suite(.timeLimit(.minutes(5)))
struct TicketStoreTests {
  /// Calls the closure with the cache of a name, which is empty if the process has none.
  private func withCache<Value>(
    _ name: String, _ body: (krb5_context?, krb5_ccache?) throws -> Value
  ) throws -> Value {
    var context: krb5_context?, cache: krb5_ccache?
    try #require(krb5_init_context(&context) == 0)
    defer { krb5_free_context(context) }
    try #require(krb5_cc_resolve(context, name, &cache) == 0)
    defer { krb5_cc_close(context, cache) }
    return try body(context, cache)
  }

  /// Gives a cache a user, as the first ticket does.
  private func fill(_ name: String) throws {
    try withCache(name) { context, cache in
      var user: krb5_principal?
      try #require(krb5_parse_name(context, "robot@LOOP.EXAMPLE", &user) == 0)
      defer { krb5_free_principal(context, user) }
      try #require(krb5_cc_initialize(context, cache, user) == 0)
    }
  }

  private func hasUser(_ name: String) throws -> Bool {
    try withCache(name) { context, cache in
      var user: krb5_principal?
      guard krb5_cc_get_principal(context, cache, &user) == 0 else { return false }
      krb5_free_principal(context, user)
      return true
    }
  }

  @Test func onlyAKeytabWithoutACacheGetsOne() {
    #expect(TicketStore(cache: nil, keytab: nil).cache == nil)
    #expect(TicketStore(cache: "FILE:/a", keytab: "/b").cache == "FILE:/a")
    let caches = (0..<2).compactMap { _ in TicketStore(cache: nil, keytab: "/b").cache }
    #expect(Set(caches).count == 2)
  }

  @Test func aCacheInMemoryIsDestroyedWithTheLastCopyOfItsStore() async throws {
    var copies = Array(repeating: TicketStore(cache: nil, keytab: "/none"), count: 2)
    let name = try #require(copies[0].cache)
    try fill(name)
    copies.removeLast()
    #expect(try hasUser(name))
    copies.removeLast()
    try await until { try !hasUser(name) }
  }
}
