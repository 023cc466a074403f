import Foundation
import MartletSemantics
import Testing

/// Valid and invalid fields, and the canonical form (RFC 9651 §4). The rows have the cases of the working group's suite
/// (httpwg/structured-field-tests); the generated ones are loops in `StructuredFieldGrammarTests`.
@Suite(.timeLimit(.minutes(5)))
struct StructuredFieldTests {
  /// A field, what it means (nil if it is refused), and how it is sent if that differs.
  struct Row: Sendable, CustomTestStringConvertible {
    let text: String
    let meaning: String?
    let sent: String

    init(_ text: String, _ meaning: String?, sent: String? = nil) {
      (self.text, self.meaning, self.sent) = (text, meaning, sent ?? text)
    }

    var testDescription: String { String(reflecting: text) }
  }

  private func check<Value: StructuredFieldValue>(_ row: Row, _ meaning: (Value) -> String) throws {
    guard let expected = row.meaning else {
      #expect(throws: StructuredField.SyntaxError.self) { try Value(parsing: row.text) }
      return
    }
    let value = try Value(parsing: row.text)
    #expect(meaning(value) == expected)
    #expect(try value.serialized() == row.sent)
  }

  @Test(arguments: items)
  func anItemIsParsedAndSent(_ row: Row) throws { try check(row) { (item: StructuredField.Item) in item.meaning } }

  @Test(arguments: lists)
  func aListIsParsedAndSent(_ row: Row) throws {
    try check(row) { (list: StructuredField.List) in list.members.map(\.meaning).joined(separator: ", ") }
  }

  @Test(arguments: dictionaries)
  func aDictionaryIsParsedAndSent(_ row: Row) throws {
    try check(row) { (dictionary: StructuredField.Dictionary) in
      dictionary.map { "\($0.key)=\($0.value.meaning)" }.joined(separator: ", ")
    }
  }

  private static let items: [Row] =
    [
      Row(":aGVsbG8=:", "b(68656c6c6f)"), Row("::", "b()"), Row(":=aGVsbG8=:", nil), Row(":a=GVsbG8=:", nil),
      Row(":aGVsbG8:", "b(68656c6c6f)", sent: ":aGVsbG8=:"), Row(":aGVsbG8.:", nil), Row(":aGVsbG8=", nil),
      Row(":aGVsb G8=:", nil), Row(":    :", nil), Row(":aGVsbG!8=:", nil), Row(":aGVsbG8=!:", nil),
      Row(":iZ==:", "b(89)", sent: ":iQ==:"), Row(":/+Ah:", "b(ffe021)"), Row(":_-Ah:", nil), Row(":", nil),
      Row("?1", "?1"), Row("?0", "?0"), Row("?Q", nil), Row("? 1", nil), Row("?-0", nil), Row("?T", nil),
      Row("?F", nil), Row("?t", nil), Row("?f", nil), Row("?True", nil), Row("?False", nil), Row("?", nil),
      Row("@0", "@0"), Row("@1659578233", "@1659578233"), Row("@-1659578233", "@-1659578233"),
      Row("@2147483648", "@2147483648"), Row("@4294967296", "@4294967296"), Row("@253402214400", "@253402214400"),
      Row("@-62135596800", "@-62135596800"), Row("@1659578233.12", nil), Row("@999999999999999", "@999999999999999"),
      Row("@-999999999999999", "@-999999999999999"), Row("@1000000000000000", nil), Row("@-1000000000000000", nil),
      Row("@-0", "@0", sent: "@0"), Row("@", nil), Row("@-", nil), Row("@ 12345678", nil), Row("@abc", nil),
      Row("%\"foo bar\"", "u(foo bar)"), Row("%\"f%C3%BC%C3%BC\"", nil), Row("%\"f%c3%bc%c3%bc\"", "u(füü)"),
      Row("%\"füü\"", nil), Row("%\"\t\"", nil), Row("%\"\n\"", nil), Row("%'foo'", nil), Row("%foo", nil),
      Row("%foo\"", nil), Row("%\"foo", nil), Row("%\"foo %22bar%22 \\ baz\"", "u(foo \"bar\" \\ baz)"),
      Row("%\"foo %a", nil), Row("%\"%c3%28\"", nil), Row("%\"%a0%a1\"", nil), Row("%\"%g0%1w\"", nil),
      Row("%\"%e2%28%a1\"", nil), Row("%\"%f0%28%8c%28\"", nil), Row("%\"BOM: %ef%bb%bf\"", "u(BOM: ﻿)"),
      Row("%\"foo, bar\"", "u(foo, bar)"), Row("%\"%\"", nil), Row("%\"%61\"", "u(a)", sent: "%\"a\""),
      Row("1; a; b=?0", "1;a:?1;b:?0", sent: "1;a;b=?0"), Row("5", "5"),
      Row("5; foo=bar", "5;foo:t(bar)", sent: "5;foo=bar"), Row("42", "42"), Row("4.5", "d4500"),
      Row("\"hello world\"", "s(hello world)"), Row("", nil), Row(" \t 1", nil), Row("1 \t ", nil),
      Row("  1  ", "1", sent: "1"), Row("     1  ", "1", sent: "1"), Row("0", "0"), Row("-0", "0", sent: "0"),
      Row("--0", nil), Row("-42", "-42"), Row("042", "42", sent: "42"), Row("-042", "-42", sent: "-42"),
      Row("00", "0", sent: "0"), Row("2,3", nil), Row("-a23", nil), Row("4-2", nil), Row("- 42", nil),
      Row("123456789012345", "123456789012345"), Row("-123456789012345", "-123456789012345"),
      Row("1234567890123456", nil), Row("-1234567890123456", nil), Row("1.23", "d1230"), Row("-1.23", "d-1230"),
      Row("1. 23", nil), Row("1 .23", nil), Row("- 1.23", nil), Row("123456789012.1", "d123456789012100"),
      Row("1.5.4", nil), Row("1..4", nil), Row("1.123", "d1123"), Row("-1.123", "d-1123"), Row("1.", nil),
      Row("1.1234", nil), Row("-1.1234", nil), Row("1234567890123.0", nil), Row("-1234567890123.0", nil),
      Row("1.20", "d1200", sent: "1.2"), Row("1.200", "d1200", sent: "1.2"), Row("1.230", "d1230", sent: "1.23"),
      Row("\"foo bar\"", "s(foo bar)"), Row("\"\"", "s()"), Row("\"   \"", "s(   )"), Row("\"füü\"", nil),
      Row("\"\t\"", nil), Row("\" \n \"", nil), Row("'foo'", nil), Row("\"foo", nil),
      Row("\"foo \\\"bar\\\" \\\\ baz\"", "s(foo \"bar\" \\ baz)"), Row("\"foo \\,\"", nil), Row("\"foo \\\"", nil),
      Row("\"foo \\", nil), Row("\"foo, bar\"", "s(foo, bar)"), Row("a_b-c.d3:f%00/*", "t(a_b-c.d3:f%00/*)"),
      Row("fooBar", "t(fooBar)"), Row("FooBar", "t(FooBar)"),
      Row(
        "2; foourl=\"https://foo.example.com/\"",
        "2;foourl:s(https://foo.example.com/)",
        sent: "2;foourl=\"https://foo.example.com/\""),
      Row(
        ":cHJldGVuZCB0aGlzIGlzIGJpbmFyeSBjb250ZW50Lg==:",
        "b(70726574656e6420746869732069732062696e61727920636f6e74656e742e)"),
    ]

  private static let lists: [Row] =
    [
      Row("\"foo\", \"bar\", \"It was the best of times.\"", "s(foo), s(bar), s(It was the best of times.)"),
      Row("foo, bar", "t(foo), t(bar)"),
      Row("(\"foo\" \"bar\"), (\"baz\"), (\"bat\" \"one\"), ()", "(s(foo) s(bar)), (s(baz)), (s(bat) s(one)), ()"),
      Row("1, 42", "1, 42"), Row("", ""), Row("  42, 43", "42, 43", sent: "42, 43"), Row("42", "42"),
      Row("1,42", "1, 42", sent: "1, 42"), Row("1 , 42", "1, 42", sent: "1, 42"),
      Row("1\t,\t42", "1, 42", sent: "1, 42"), Row("1, 42,", nil), Row("1,,42", nil), Row("1, , 42", nil),
      Row("(1 2), (42 43)", "(1 2), (42 43)"), Row("(42)", "(42)"), Row("()", "()"),
      Row("(1),(),(42)", "(1), (), (42)", sent: "(1), (), (42)"), Row("(  1  42  )", "(1 42)", sent: "(1 42)"),
      Row("(1\t 42)", nil), Row("(1 42", nil), Row("(1 2, (42 43)", nil), Row("(abc\"def\"?0123*dXZ3*xyz)", nil),
      Row("(", nil), Row("((1))", nil), Row("(a=1)", nil), Row("123456789012345, 1", "123456789012345, 1"),
      Row("1234567890123456, 1", nil), Row("123456789012.123, 1.1", "d123456789012123, d1100"),
      Row("text/html;q=1.0", "t(text/html);q:d1000"), Row("text/html;a;q=1.0", "t(text/html);a:?1;q:d1000"),
      Row("text/html;q=1.0;a", "t(text/html);q:d1000;a:?1"),
      Row("text/html,text/plain;q=0.5", "t(text/html), t(text/plain);q:d500", sent: "text/html, text/plain;q=0.5"),
      Row("text/html, text/plain;q =0.5", nil), Row("text/html, text/plain;q= 0.5", nil),
      Row("text/html, text/plain ;q=0.5", nil),
      Row("text/html, text/plain; q=0.5", "t(text/html), t(text/plain);q:d500", sent: "text/html, text/plain;q=0.5"),
      Row("text/html, text/plain;q=0.5", "t(text/html), t(text/plain);q:d500"),
      Row("text/html,text/plain;q=0.5,", nil), Row("text/html,,text/plain;q=0.5,", nil),
      Row("a;b=1;c=2;b=3", "t(a);b:3;c:2", sent: "a;b=3;c=2"), Row("a;m;z;t", "t(a);m:?1;z:?1;t:?1"),
      Row("a;b=1;", nil), Row("a;b=1; ", nil), Row("a;=1", nil), Row("a;", nil), Row("a; ", nil),
      Row("(abc_123);a=1;b=2, cdef_456", "(t(abc_123));a:1;b:2, t(cdef_456)"),
      Row("(abc_123;a=1;b=2;cdef_456)", "(t(abc_123);a:1;b:2;cdef_456:?1)"),
      Row("(abc_123;a=1;b=2);cdef_456", "(t(abc_123);a:1;b:2);cdef_456:?1"), Row("a_b-c3/*", "t(a_b-c3/*)"),
      Row("fooBar", "t(fooBar)"), Row("FooBar", "t(FooBar)"),
      Row(
        "(\"foo\"; a=1;b=2);lvl=5, (\"bar\" \"baz\");lvl=1",
        "(s(foo);a:1;b:2);lvl:5, (s(bar) s(baz));lvl:1",
        sent: "(\"foo\";a=1;b=2);lvl=5, (\"bar\" \"baz\");lvl=1"),
      Row(
        "abc;a=1;b=2; cde_456, (ghi;jk=4 l);q=\"9\";r=w",
        "t(abc);a:1;b:2;cde_456:?1, (t(ghi);jk:4 t(l));q:s(9);r:t(w)",
        sent: "abc;a=1;b=2;cde_456, (ghi;jk=4 l);q=\"9\";r=w"),
      Row(
        "abc_123;a=1;b=2; cdef_456, ghi;q=9;r=\"+w\"",
        "t(abc_123);a:1;b:2;cdef_456:?1, t(ghi);q:9;r:s(+w)",
        sent: "abc_123;a=1;b=2;cdef_456, ghi;q=9;r=\"+w\""),
      Row(
        "text/html  ,  text/plain;  q=0.5;  charset=utf-8",
        "t(text/html), t(text/plain);q:d500;charset:t(utf-8)",
        sent: "text/html, text/plain;q=0.5;charset=utf-8"),
    ]

  private static let dictionaries: [Row] =
    [
      Row("en=\"Applepie\", da=:w4ZibGV0w6ZydGUK:", "en=s(Applepie), da=b(c386626c6574c3a67274650a)"), Row("", ""),
      Row("a=1", "a=1"), Row("a=(1 2)", "a=(1 2)"), Row("a=(1)", "a=(1)"), Row("a=()", "a=()"),
      Row("a=1,b=2", "a=1, b=2", sent: "a=1, b=2"), Row("a=1 ,  b=2", "a=1, b=2", sent: "a=1, b=2"),
      Row("a=1\t,\tb=2", "a=1, b=2", sent: "a=1, b=2"), Row("     a=1 ,  b=2", "a=1, b=2", sent: "a=1, b=2"),
      Row("a =1, b=2", nil), Row("a=1, b= 2", nil), Row("a=1, b=2", "a=1, b=2"), Row("a=1, b, c=3", "a=1, b=?1, c=3"),
      Row("a, b, c", "a=?1, b=?1, c=?1"), Row("a, b=2", "a=?1, b=2"), Row("a=1, b", "a=1, b=?1"),
      Row("a=1, b;foo=9, c=3", "a=1, b=?1;foo:9, c=3"),
      Row("a=1, b=?1;foo=9, c=3", "a=1, b=?1;foo:9, c=3", sent: "a=1, b;foo=9, c=3"), Row("a=1, b=2,", nil),
      Row("a=1,,b=2,", nil), Row("a=1,b=2,a=3", "a=3, b=2", sent: "a=3, b=2"), Row("m, z, t", "m=?1, z=?1, t=?1"),
      Row("a=1,1b=2,a=1", nil), Row("a=1,B=2,a=1", nil), Row("a=1,b!=2,a=1", nil),
      Row("en=\"Applepie\", da=:w4ZibGV0w6ZydGU=:", "en=s(Applepie), da=b(c386626c6574c3a6727465)"),
      Row("a=?0, b, c; foo=bar", "a=?0, b=?1, c=?1;foo:t(bar)", sent: "a=?0, b, c;foo=bar"),
      Row("rating=1.5, feelings=(joy sadness)", "rating=d1500, feelings=(t(joy) t(sadness))"),
      Row("a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid", "a=(1 2), b=3, c=4;aa:t(bb), d=(5 6);valid:?1"),
      Row("foo=1, bar=2", "foo=1, bar=2"),
      Row("abc=123;a=1;b=2, def=456, ghi=789;q=9;r=\"+w\"", "abc=123;a:1;b:2, def=456, ghi=789;q:9;r:s(+w)"),
      Row("a=b; q=1.0", "a=t(b);q:d1000", sent: "a=b;q=1.0"),
      Row("a=(1 2); q=1.0", "a=(1 2);q:d1000", sent: "a=(1 2);q=1.0"), Row("a=3;c;d=5", "a=3;c:?1;d:5"),
      Row("a=3;c=5;d", "a=3;c:5;d:?1"), Row("a=b;c=1,d=e;f=2", "a=t(b);c:1, d=t(e);f:2", sent: "a=b;c=1, d=e;f=2"),
      Row("a=b;q =0.5", nil), Row("a=b;q= 0.5", nil), Row("a=b ;q=0.5", nil),
      Row("a=b; q=0.5", "a=t(b);q:d500", sent: "a=b;q=0.5"),
      Row("a=b;  c=1  ,  d=e; f=2; g=3", "a=t(b);c:1, d=t(e);f:2;g:3", sent: "a=b;c=1, d=e;f=2;g=3"),
      Row("a=b;c=1, d=e;f=2", "a=t(b);c:1, d=t(e);f:2"), Row("a=b; q=1.0,", nil), Row("a=b; q=1.0,,c=d", nil),
    ]
}

extension StructuredField.BareItem {
  /// The type and the value.
  fileprivate var meaning: String {
    switch self {
    case .integer(let value): "\(value)"
    case .decimal(let number): "d\(number.thousandths)"
    case .string(let text): "s(\(text))"
    case .token(let text): "t(\(text))"
    case .bytes(let data): "b(\(data.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()))"
    case .boolean(let value): value ? "?1" : "?0"
    case .date(let seconds): "@\(seconds)"
    case .displayString(let text): "u(\(text))"
    }
  }
}

extension StructuredField.Item {
  fileprivate var meaning: String { value.meaning + parameters.meaning }
}

extension StructuredField.Parameters {
  fileprivate var meaning: String { map { ";\($0.key):\($0.value.meaning)" }.joined() }
}

extension StructuredField.Member {
  fileprivate var meaning: String {
    switch self {
    case .item(let item): item.meaning
    case .innerList(let list): "(\(list.items.map(\.meaning).joined(separator: " ")))" + list.parameters.meaning
    }
  }
}
