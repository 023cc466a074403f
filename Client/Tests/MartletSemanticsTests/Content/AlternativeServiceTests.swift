import MartletSemantics
import Testing

/// `Alt-Svc` (RFC 7838 §3).
struct AlternativeServiceTests {
  @Test(arguments: [
    // the examples of §3 and §3.1
    (#"h2=":8000""#, [#"h2=":8000"; ma=86400"#]),
    (#"h2="alt.example.com:8000""#, [#"h2="alt.example.com:8000"; ma=86400"#]),
    (#"h2=":443"; ma=3600"#, [#"h2=":443"; ma=3600"#]),
    (#"h2=":443"; ma=2592000; persist=1"#, [#"h2=":443"; ma=2592000; persist=1"#]),
    (#"h3-25=":443"; ma=3600, h2=":443"; ma=3600"#, [#"h3-25=":443"; ma=3600"#, #"h2=":443"; ma=3600"#]),
    (#"w%3Dx%3Ay#z=":443""#, [#"w=x:y#z=":443"; ma=86400"#]), ("clear", []),
    // fields of real servers
    (#"h3=":443"; ma=86400,h3-29=":443"; ma=86400"#, [#"h3=":443"; ma=86400"#, #"h3-29=":443"; ma=86400"#]),
    (#"h3="[2001:db8::1]:443""#, [#"h3="2001:db8::1:443"; ma=86400"#]),
    // a persist other than 1 and unknown parameters are ignored, and so are invalid alternatives
    (#"h2=":1"; persist=2; v="46,43""#, [#"h2=":1"; ma=86400"#]),
    (#"h2=":0", h2="443", h2=":70000", h2, =":1", h2=":1"; ma=x"#, [#"h2=":1"; ma=86400"#]), ("", []),
    (#"h2="a b:1""#, []), (#"h2=":443", clear"#, []),
  ])
  func theFieldIsParsed(_ value: String, _ services: [String]) {
    #expect(HTTPFields(dictionaryLiteral: ("Alt-Svc", value)).alternativeServices.map(\.description) == services)
  }

  @Test func aLongFieldIsBounded() {
    let value = Array(repeating: #"h3=":443""#, count: 10_000).joined(separator: ",")
    #expect(HTTPFields(dictionaryLiteral: ("Alt-Svc", value)).alternativeServices.count == 64)
    #expect(HTTPFields().alternativeServices.isEmpty)
  }
}
