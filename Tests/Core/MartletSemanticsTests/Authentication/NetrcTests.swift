import MartletSemantics
import Testing

struct NetrcTests {
  private static let everything = """
    # the file of a test
    machine A.example login anna password secret
    machine b.example
    \tlogin "berta b"   # after a value
    \tpassword "q\\"u\\\\o\\te"
    \taccount accounting
    macdef init
    machine not.example login not password not

    machine c.example password #only login "#c"
    machine a.example login second password ignored
    machine d.example
    default login guest password ""
    machine e.example login emil password e
    """

  @Test(arguments: [
    ("a.example", "anna", "secret"), ("B.EXAMPLE", "berta b", "q\"u\\o\te"), ("c.example", "#c", "#only"),
    ("not.example", "guest", ""), ("d.example", "guest", ""), ("e.example", "emil", "e"), ("x", "guest", ""),
  ])
  func theFirstEntryOfAHostCounts(_ host: String, _ user: String, _ password: String) throws {
    let netrc = try Netrc(parsing: Self.everything)
    #expect(netrc.credential(for: host) == Credential(user: user, password: password))
  }

  @Test(arguments: ["b\u{FC}cher.example", "B\u{DC}CHER.example", "xn--bcher-kva.example"])
  func internationalHostNamesAreComparedAsALabels(_ name: String) throws {
    let netrc = try Netrc(parsing: "machine \(name) login anna password secret")
    #expect(netrc.credential(for: "xn--bcher-kva.example")?.user == "anna")
    #expect(netrc.credential(for: "b\u{FC}cher.example")?.user == "anna")
  }

  @Test func withoutADefaultAnUnknownHostHasNoCredential() throws {
    #expect(try Netrc(parsing: "machine a login b password c").credential(for: "b") == nil)
    #expect(try Netrc(parsing: "").credential(for: "b") == nil)
    #expect(try Netrc(parsing: "macdef all\r\ndefault login a\r\n").credential(for: "b") == nil)
  }

  @Test(arguments: [
    ("machine", 1), ("machine a\nlogin b\npassword", 3), ("\nlogin a", 2), ("machine a hidden b", 1),
    ("machine a\nlogin \"hidden\n\n", 2), ("machine a login b password \"hidden\\", 1),
  ])
  func aSyntaxErrorHasItsLineNumber(_ text: String, line: Int) {
    let error = #expect(throws: FileProblem.self) { try Netrc(parsing: text) }
    #expect(error?.line == line)
    #expect(error?.description.contains("hidden") == false)
  }

  @Test func descriptionsContainNoSecrets() throws {
    var dumped = ""
    let netrc = try Netrc(parsing: Self.everything)
    dump(netrc, to: &dumped)
    #expect(!"\(dumped) \(netrc)".contains("secret"))
  }
}
