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

  @Test(arguments: [
    ("a.example", "anna", "1"), ("A.EXAMPLE", "bob", "2"), ("a.example", "carol", "any"), ("a.example", "guest", "any"),
    ("a.example", "eva", "7"),
    ("b.example", "anna", nil), ("b.example", "dora", "4"), ("b.example", "guest", "0"), ("c.example", "guest", "0"),
    ("c.example", "anna", nil), ("d.example", "anna", "5"),
  ])
  func aHostMayHaveSeveralLogins(_ host: String, _ user: String, _ password: String?) throws {
    let netrc = try Netrc(
      parsing: """
        machine a.example login anna password 1
        machine a.example login bob password 2
        machine a.example password any
        machine a.example login bob password 3
        machine a.example login eva password 7
        machine b.example login dora password 4
        machine d.example login anna password 5
        machine d.example login anna password 6
        default login guest password 0
        """)
    #expect(netrc.credential(for: host, user: user) == password.map { Credential(user: user, password: $0) })
  }

  @Test(arguments: [
    "\u{FEFF}machine a login b password c", "machine a port 443 login b protocol https password c",
    "unknown word\nmachine a login b password c rest of the line\n", "machine a login b password c expires=never",
    "\u{FEFF}# a comment\r\nmachine a\r\n\tlogin b\r\n\tpassword c\r\n",
  ])
  func aByteOrderMarkAndUnknownWordsAreSkipped(_ text: String) throws {
    #expect(try Netrc(parsing: text).credential(for: "a") == Credential(user: "b", password: "c"))
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
    ("machine", 1), ("machine a\nlogin b\npassword", 3), ("\nlogin a", 2), ("hidden\n\npassword hidden", 3),
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
