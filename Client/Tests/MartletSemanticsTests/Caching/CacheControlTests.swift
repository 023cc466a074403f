import MartletSemantics
import Testing

struct CacheControlTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let lines: [String]
    let seconds: CacheControl.Seconds?
    var testDescription: String { lines.joined(separator: " | ") }

    init(_ lines: String..., is seconds: CacheControl.Seconds?) {
      self.lines = lines
      self.seconds = seconds
    }
  }

  private static func control(_ lines: [String]) -> CacheControl {
    var fields: HTTPFields = [:]
    for line in lines { fields.append(line, for: .cacheControl) }
    return CacheControl(fields)
  }

  @Test(arguments: [
    Row("max-age=3600", is: .value(3600)),
    Row("MaX-aGe=3600", is: .value(3600)),
    Row("max-age=\"3600\"", is: .value(3600)),
    Row("max-age=003600", is: .value(3600)),
    Row("foobar, max-age=3600", is: .value(3600)),
    Row("foo=\"a, max-age=7\", max-age=1", is: .value(1)),
    Row("max-age=1, foo=\"max-age=7\"", is: .value(1)),
    Row("max-age=1800, max-age=1", is: .value(1800)),
    Row("max-age=1800", "max-age=1", is: .value(1800)),
    Row(",, ,max-age=5,", is: .value(5)),
    Row("max-age=2147483648", is: .value(1 << 31)),
    Row("max-age=99999999999", is: .value(1 << 31)),
    Row("max-age=99999999999999999999999999", is: .value(1 << 31)),
    Row("max-age", is: .invalid),
    Row("max-age, max-age=5", is: .invalid),
    Row("public, max-age , foo", is: .invalid),
    Row("max-age=", is: .invalid),
    Row("max-age=-1", is: .invalid),
    Row("max-age=3600.0", is: .invalid),
    Row("max-age=3600.5", is: .invalid),
    Row("max-age=a3600", is: .invalid),
    Row("max-age=3600a", is: .invalid),
    Row("max-age='3600'", is: .invalid),
    Row("max-age =3600", is: .invalid),
    Row("max-age= 3600", is: .invalid),
    Row("max-age=abc, max-age=5", is: .invalid),
    Row("s-maxage=5", is: nil),
    Row("max age=5", is: nil),
    Row("", is: nil),
  ])
  func validSecondsAreRead(row: Row) {
    #expect(Self.control(row.lines).seconds("max-age") == row.seconds)
  }

  /// Only `max-stale` may have no argument (RFC 9111 §5.2.1.2).
  @Test(
    arguments: [
      ("max-stale", .unlimited), ("max-stale=5", .value(5)), ("max-stale=", .invalid), ("min-fresh", .invalid),
      ("s-maxage", .invalid), ("stale-if-error", .invalid), ("stale-while-revalidate", .invalid),
    ] as [(String, CacheControl.Seconds)])
  func argumentMayBeMissingOnlyWhereThatHasAMeaning(line: String, seconds: CacheControl.Seconds) {
    let name = String(line.prefix { $0 != "=" })
    #expect(Self.control([line]).seconds(name) == seconds)
    #expect(Self.control(["\(line), x=\"y\""]).seconds(name) == seconds)
  }

  @Test(
    arguments: [
      ("no-cache", true, []),
      ("No-CaChE", true, []),
      ("no-cache=\"a, B\"", false, ["a", "b"]),
      ("no-cache=a", false, ["a"]),
      ("no-cache=\"a\", no-cache", true, ["a"]),
      ("no-cache=\"\"", true, []),
      ("max-age=5", false, []),
    ] as [(String, Bool, Set<FieldName>)])
  func fieldNamesQualifyADirective(line: String, isUnqualified: Bool, names: Set<FieldName>) {
    let control = Self.control([line])

    #expect(control.isUnqualified("no-cache") == isUnqualified)
    #expect(control.fieldNames("no-cache") == names)
  }

  @Test func unknownDirectivesAreKept() {
    let control = Self.control(["immutable, x-mine=\"a b\""])

    #expect(control.contains("immutable"))
    #expect(control.contains("x-mine"))
    #expect(!control.contains("no-store"))
  }

  @Test func otherFieldsHaveNoDirectives() {
    let control = CacheControl(["CDN-Cache-Control": "max-age=60", "Surrogate-Control": "max-age=60"])

    #expect(control.seconds("max-age") == nil)
  }
}
