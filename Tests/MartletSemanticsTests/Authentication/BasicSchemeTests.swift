import MartletSemantics
import Testing

@Suite("Basic (RFC 7617)")
struct BasicSchemeTests {
  @Test(arguments: [
    ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),  // §2
    ("test", "123£", "Basic dGVzdDoxMjPCow=="),  // §2.1
    ("", "", "Basic Og=="), ("anna", "a:b:c", "Basic YW5uYTphOmI6Yw=="),
  ])
  func userAndPasswordAreEncoded(_ user: String, _ password: String, expected: String) throws {
    #expect(try BasicScheme.authorization(for: Credential(user: user, password: password)) == expected)
  }

  @Test(arguments: [("a:b", "secret"), ("a\nb", "secret"), ("a", "sec\u{7F}ret"), ("a", "sec\rret"), ("a\0", "secret")])
  func whatBasicCannotCarryIsRefused(_ user: String, _ password: String) {
    let error = #expect(throws: CredentialError.self) {
      try BasicScheme.authorization(for: Credential(user: user, password: password))
    }
    #expect(error?.description.contains("secret") == false)
  }

  // §2.2: all paths at or deeper than the last symbolic element of the path.
  @Test(arguments: [
    ("http://example.com/docs/index.html", "/docs/"), ("http://example.com/docs/", "/docs/"),
    ("http://example.com/a?b=/c/d", "/"), ("http://example.com", "/"), ("http://example.com/a/b/c", "/a/b/"),
  ])
  func theProtectionSpaceIsAPath(_ text: String, expected: String) throws {
    #expect(BasicScheme.protectedPath(of: try #require(URL(string: text))) == expected)
  }

  @Test func aCredentialShowsNothing() {
    let credential = Credential(user: "anna", password: "secret")
    var dumped = ""
    dump([credential], to: &dumped)
    let shown = "\(credential) \(String(reflecting: credential)) \(dumped)"
    #expect(!shown.contains("secret") && !shown.contains("anna"))
  }
}
